package pgconn_test

import (
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// Connections that Postgres ended while nobody used them cost nobody an error.
func TestDirectPassesOverEndedConnections(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	db := storetest.Open(t, s.APIURL, store.Options{AsAPI: true, MaxConns: 1})
	add := func() error {
		_, err := db.Pets.CreatePet(t.Context(), s.A.ID, catalog.NewPet{Name: "Rex", Status: catalog.Sold})
		return err
	}
	list := func() error {
		_, _, err := db.Pets.ListPets(t.Context(), s.A.ID, catalog.Page{Limit: 20})
		return err
	}
	for _, call := range []func() error{add, list, add} {
		assert.NoError(t, call())
		s.Exec(t, `select pg_terminate_backend(pid, 5000) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid() and query like '%pets%'`)
		assert.Equal(t, call(), nil, "after all connections ended")
	}
}
