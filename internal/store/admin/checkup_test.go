package admin_test

import (
	"testing"
	"time"

	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

func TestCheckup(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	owner, api := storetest.Open(
		t,
		database.URL,
		store.Options{},
	), storetest.Open(
		t,
		database.APIURL,
		store.Options{AsAPI: true},
	)
	for db, want := range map[*store.DB]admin.Login{
		owner: {Name: "postgres", Superuser: true, BypassRLS: true, Owner: true, API: true},
		api:   {Name: "petstore_api", API: true},
	} {
		c, err := db.Checkup(t.Context())
		if err != nil || c.Version == "" || time.Since(c.Now).Abs() > time.Minute {
			t.Errorf("%+v, %v", c, err)
		}
		c.Role.Support, c.Role.Billing = false, false
		assert.DeepEqual(t, c.Role, want, want.Name)
	}
}

// TestServerLogins: the logins of connected servers, whoever asks, and not those of staff.
func TestServerLogins(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	staff := storetest.Open(t, database.URL, store.Options{})
	if logins, err := staff.ServerLogins(t.Context()); err != nil || len(logins) > 0 {
		t.Errorf("without a server: %+v, %v", logins, err)
	}
	excessive := storetest.Open(t, database.URL, store.Options{AsAPI: true})
	proper := storetest.Open(t, database.APIURL, store.Options{AsAPI: true})
	for db, want := range map[*store.DB]string{excessive: "postgres", proper: "api_server"} {
		login, role, err := db.ServerLogin(t.Context())
		if err != nil || login.Name != want || role != "petstore_api" ||
			(login.Excess() != "") != (want == "postgres") {
			t.Errorf("%+v in the role %s, %v, want %s", login, role, err, want)
		}
		logins, err := db.ServerLogins(t.Context())
		if err != nil || len(logins) != 2 || logins[0].Name != "api_server" || logins[1].Excess() != "is a superuser" {
			t.Errorf("%s sees %+v, %v", want, logins, err)
		}
	}
}
