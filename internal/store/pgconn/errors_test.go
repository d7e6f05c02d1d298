package pgconn_test

import (
	"errors"
	"strings"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/fixture"
)

// TestErrorsThatPass: what would pass if it came again is "not now", and what would not is no
// outage.
func TestErrorsThatPass(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.Exec(t, `
		create function refuse() returns trigger language plpgsql as $$
		begin raise exception 'refused' using errcode = new.name; end $$;
		create trigger refuse before insert on pets for each row execute function refuse()`)
	for code, passes := range map[string]bool{
		"40P01": true, // deadlock
		"40001": true, // serialization failure
		"53300": true, // too many connections
		"57P01": true, // shutdown
		"22003": false,
		"P0001": false,
		"42P01": true, // undefined table: a dump is being restored
		"42703": true, // undefined column
		"XX000": true, // internal error: a prepared statement has a type that is gone
	} {
		_, err := s.Pets.CreatePet(t.Context(), s.A.ID, catalog.NewPet{Name: code, Status: catalog.Available})
		if err == nil || errors.Is(err, store.ErrUnavailable) != passes {
			t.Errorf("%s: %v; is it ErrUnavailable: want %v", code, err, passes)
		}
		if want := strings.HasPrefix(code, "42"); store.IsNotMigrated(err) != want {
			t.Errorf("%s: %v; IsNotMigrated: want %v", code, err, want)
		}
	}
}
