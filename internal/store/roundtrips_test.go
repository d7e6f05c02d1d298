package store_test

import (
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/store/storetest"
)

// The operations that customers repeat cost one round trip once their statement is prepared; what tells row-level
// security the tenant is in it, and an animal is added by one statement.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pet := s.add(t, s.a, "Rex")[0]
	proxy := newBreakingProxy(t, s.database.APIURL)
	db := storetest.Open(t, proxy.url, store.Options{AsAPI: true, MaxConns: 1})
	for name, tt := range map[string]struct {
		call func() error
		want int
	}{
		"list": {func() error {
			_, _, err := db.Pets.ListPets(t.Context(), s.a.ID, catalog.Page{Limit: 20})
			return err
		}, 1},
		"list by status": {func() error {
			_, _, err := db.Pets.ListPets(t.Context(), s.a.ID, catalog.Page{Limit: 20, Status: catalog.Sold})
			return err
		}, 1},
		"month": {func() error { _, err := db.Usage.UsageMonth(t.Context(), s.a.ID, time.Now()); return err }, 1},
		"get":   {func() error { _, err := db.Pets.GetPet(t.Context(), s.a.ID, pet.ID); return err }, 1},
		"add": {func() error {
			_, err := db.Pets.CreatePet(t.Context(), s.a.ID, catalog.NewPet{Name: "Luna", Status: catalog.Sold})
			return err
		}, 1},
	} {
		if err := tt.call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		const far = 1_000_000 // so far away that nothing is broken
		proxy.breakAt(far, cutAnswer)
		if err := tt.call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := far - proxy.remaining(); n != tt.want {
			t.Errorf("%s takes %d round trips, want %d", name, n, tt.want)
		}
	}
}
