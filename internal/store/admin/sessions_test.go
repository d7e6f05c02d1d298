package admin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/lib/pq" // the driver of sqlx.Open

	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// Postgres hides most of others' sessions from staff, but not how many there are. A server of its
// own, as other tests connect to the shared one.
func TestSessionsAreTheSameForAllLogins(t *testing.T) {
	server := storetest.NewServer(t)
	got, want := map[string]int64{}, map[string]int64{"owner": 5, "server": 5, "support": 5, "billing": 5}
	logins := map[string]*store.DB{
		"owner": storetest.Open(
			t,
			server.URL,
			store.Options{},
		),
		"server": storetest.Open(t, server.APIURL, store.Options{AsAPI: true}),
		"support": storetest.Open(
			t,
			server.SupportURL,
			store.Options{},
		),
		"billing": storetest.Open(t, server.BillingURL, store.Options{}),
	}
	_, err := fixture.Connect(t, server.URL).Connx(t.Context())
	assert.NoError(t, err)
	// The sessions that prepared the server may not have ended yet, and others begin with the first
	// query. Between two looks it sleeps.
	pause := func() { time.Sleep(5 * time.Millisecond) }
	for end := time.Now().Add(fixture.LongTimeout); !cmp.Equal(want, got) && time.Now().Before(end); pause() {
		for login, db := range logins {
			s, err := db.Operation.Sessions(t.Context())
			assert.NoError(t, err, login)
			got[login] = s.Open
		}
	}
	assert.DeepEqual(t, got, want, "open sessions")
}
