package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// TestUnderWay: a transaction that changes animals is seen from its first write to the end of its
// commit, also while that waits for a standby. One that changes something else, or began after the
// number that is asked for, is not.
func TestUnderWay(t *testing.T) {
	t.Parallel()
	postgres := storetest.NewServer(t)
	s := fixture.NewShopOn(t, fixture.Database{
		Database: &postgres.Database,
		Owner:    fixture.Connect(t, postgres.URL),
	})
	s.DB = storetest.Open(t, s.APIURL, store.Options{AsAPI: true, Timeout: fixture.ShortTimeout})
	pet := s.Pet(t, s.A, catalog.Available)
	look := func(since int64) (next int64, changing bool) {
		t.Helper()
		wait.Until(t, "an answer", func() (ok bool) {
			var err error
			next, changing, err = s.Transactions.UnderWay(t.Context(), since)
			return err == nil
		})
		return next, changing
	}
	before, changing := look(0)
	assert.True(t, !changing, "a transaction although there is none")
	tx, err := s.Owner.BeginTxx(t.Context(), nil)
	assert.NoError(t, err)
	_, err = tx.Exec(`insert into tenants (name, created_at) values ('z', now())`)
	assert.NoError(t, err)
	if _, changing := look(0); changing {
		t.Error("one that changes no catalogue")
	}
	assert.NoError(t, tx.Rollback())

	s.Exec(t, `alter system set synchronous_standby_names = 'gone'`)
	s.Exec(t, `select pg_reload_conf()`)
	done := make(chan error)
	go func() {
		var err error
		for n := 0; err == nil; n++ { // until its session knows of the standby
			name := fmt.Sprint("Luna ", n)
			_, err = s.Pets.ChangePet(context.WithoutCancel(t.Context()), s.A.ID, pet.ID, catalog.PetPatch{Name: &name})
		}
		done <- err
	}()
	wait.Until(t, "a change that waits", func() bool {
		_, changing := look(0)
		return changing
	})
	if err := <-done; errors.Is(err, catalog.ErrNotMade) {
		t.Error(err)
	}
	after, changing := look(0)
	if !changing || after <= before {
		t.Errorf("next %d after %d, changing %v, while its commit waits", after, before, changing)
	}
	if _, changing := look(before); changing {
		t.Error("one that began after that number")
	}
	s.Exec(t, `alter system reset synchronous_standby_names`)
	s.Exec(t, `select pg_reload_conf()`)
	wait.Until(t, "the end of the change", func() bool {
		_, changing := look(after)
		return !changing
	})
}

// TestUnderWayElsewhere: a change in another database of the same server is none of this one, even
// if its tables have the same OIDs, as those of databases that are made from one template.
func TestUnderWayElsewhere(t *testing.T) {
	t.Parallel()
	s, other := fixture.NewShop(t), fixture.NewShop(t)
	pet := other.Pet(t, other.A, catalog.Available)
	const oid = `select 'pets'::regclass::oid::text`
	assert.Equal(t, s.Text(t, oid), other.Text(t, oid), "the OID of pets")
	tx, err := other.Owner.BeginTxx(t.Context(), nil)
	assert.NoError(t, err)
	defer func() { assert.NoError(t, tx.Rollback()) }()
	_, err = tx.Exec(`update pets set name = 'Luna' where id = $1`, pet.ID)
	assert.NoError(t, err)
	for _, c := range []struct {
		fixture.Shop
		changing bool
	}{{other, true}, {s, false}} {
		_, changing, err := c.Transactions.UnderWay(t.Context(), 0)
		assert.NoError(t, err)
		assert.Equal(t, changing, c.changing, "changing")
	}
}
