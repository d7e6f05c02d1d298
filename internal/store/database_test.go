package store_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver of sqlx.Open

	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// database is a migrated database with a connection of its owner.
type database struct {
	*storetest.Database
	owner *sqlx.DB
}

func newDatabase(t *testing.T) database {
	t.Helper()
	db := storetest.New(t)
	return database{db, connect(t, db.URL)}
}

func connect(t testing.TB, url string) *sqlx.DB {
	t.Helper()
	db, err := sqlx.Open("postgres", url)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (d database) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	_, err := d.owner.ExecContext(t.Context(), query, args...)
	assert.NoError(t, err, query)
}

func (d database) text(t *testing.T, query string, args ...any) (s string) {
	t.Helper()
	assert.NoError(t, d.owner.GetContext(t.Context(), &s, query, args...), query)
	return s
}

// want checks what text returns.
func (d database) want(t *testing.T, want, query string, args ...any) {
	t.Helper()
	assert.Equal(t, d.text(t, query, args...), want, query)
}

// rows appends the result of the query to the slice that dest points to.
func (d database) rows(t *testing.T, dest any, query string, args ...any) {
	t.Helper()
	assert.NoError(t, d.owner.SelectContext(t.Context(), dest, query, args...), query)
}

// atOnce runs n calls at the same time. So many must succeed, and the others fail with refusal.
func atOnce(t *testing.T, n, succeed int, refusal error, call func(i int) error) {
	t.Helper()
	var succeeded atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := call(i); err == nil {
				succeeded.Add(1)
			} else if !errors.Is(err, refusal) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	assert.Equal(t, succeeded.Load(), int64(succeed), "of", n, "calls succeeded, want", succeed)
}

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
	_, err := connect(t, server.URL).Connx(t.Context())
	assert.NoError(t, err)
	// The sessions that prepared the server may not have ended yet, and others begin with the first
	// query. Between two looks it sleeps.
	pause := func() { time.Sleep(5 * time.Millisecond) }
	for end := time.Now().Add(longTimeout); !cmp.Equal(want, got) && time.Now().Before(end); pause() {
		for login, db := range logins {
			s, err := db.Operation.Sessions(t.Context())
			assert.NoError(t, err, login)
			got[login] = s.Open
		}
	}
	assert.DeepEqual(t, got, want, "open sessions")
}
