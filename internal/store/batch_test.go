package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

// noted is jo, with the numbers of the entries.
func noted() (audit.By, *audit.Numbers) {
	numbers := new(audit.Numbers)
	return audit.By{Actor: fixture.Jo.Actor, Reason: fixture.Jo.Reason, Undoable: numbers}, numbers
}

func addTenants(t *testing.T, o fixture.Office, n int) (names []string) {
	t.Helper()
	for i := range n {
		names = append(names, o.Tenant(t, fmt.Sprintf("tenant-%d", i), plans.Free).Name)
	}
	return names
}

// suspendAll is the function of a batch that suspends tenants, and calls between after each of
// them.
func suspendAll(by audit.By, names []string, between func()) func(context.Context, *store.DB) error {
	return func(ctx context.Context, db *store.DB) error {
		if err := db.Lock(ctx, names, nil); err != nil {
			return err
		}
		for _, name := range names {
			if _, err := db.Tenants.Suspend(ctx, by, name, fixture.Noon); err != nil {
				return err
			}
			between()
		}
		return nil
	}
}

func nothing() {}

// TestBatchChangesNothing: neither what fails, nor a failure that fn passes over, nor a dry run, of
// the batch or of one of its changes.
func TestBatchChangesNothing(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	names := addTenants(t, o, 3)
	before := o.Everything(t)
	by, numbers := noted()
	dryBy := by
	dryBy.DryRun = true
	own := errors.New("not today")
	for name, test := range map[string]struct {
		by   audit.By
		fn   func(context.Context, *store.DB) error
		want error
	}{
		"the third of four fails": {by, suspendAll(by, []string{names[0], names[1], "nobody", names[2]}, nothing),
			plans.ErrTenantNotFound},
		"the same one twice": {by, suspendAll(by, []string{names[0], names[0]}, nothing), plans.ErrTenantSuspended},
		"fn fails": {by, func(ctx context.Context, db *store.DB) error {
			return errors.Join(suspendAll(by, names, nothing)(ctx, db), own)
		}, own},
		"fn passes over a failure": {by, func(ctx context.Context, db *store.DB) error {
			_, _ = db.Tenants.Suspend(ctx, by, "nobody", fixture.Noon)
			return suspendAll(by, names, nothing)(ctx, db)
		}, plans.ErrTenantNotFound},
		"a dry run":             {dryBy, suspendAll(by, names, nothing), nil},
		"a dry run of a change": {by, suspendAll(dryBy, names, nothing), nil},
	} {
		assert.ErrorIs(t, o.Batch(t.Context(), test.by, test.fn), test.want, name)
		assert.DeepEqual(t, o.Everything(t), before, name, "changed the database")
	}
	assert.True(t, len(*numbers) == 0, "numbers of entries that were not written", *numbers)
}

// TestBatchReadsItsChanges: a change sees those before it.
func TestBatchReadsItsChanges(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	o.Tenant(t, "acme", plans.Free)
	key, _ := o.Issue(t, "acme")
	err := o.Batch(t.Context(), fixture.Jo, func(ctx context.Context, db *store.DB) error {
		service := keys.Service{Store: db.Keys}
		if _, err := service.Revoke(ctx, fixture.Jo, key.ID); err != nil {
			return err
		}
		if k, err := db.Keys.Get(ctx, key.ID); err != nil || k.RevokedAt.IsZero() {
			t.Errorf("within the batch: %+v, %v", k, err)
		}
		if k, err := o.Keys.Get(ctx, key.ID); err != nil || !k.RevokedAt.IsZero() {
			t.Errorf("outside of it: %+v, %v", k, err)
		}
		return nil
	})
	assert.NoError(t, err)
}

// TestBatchDoesNotHoldTheHead: while the changes of a batch are made, others write audit entries,
// and still its numbers follow each other.
func TestBatchDoesNotHoldTheHead(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	names := addTenants(t, o, 5)
	by, numbers := noted()
	other, others := noted()
	err := o.Batch(t.Context(), by, suspendAll(by, names, func() {
		ctx, cancel := context.WithTimeout(t.Context(), fixture.LongTimeout)
		defer cancel()
		n := tenancy.NewTenant{Name: fmt.Sprintf("other-%d", len(*others)), Plan: plans.Free}
		_, err := o.Tenants.Create(ctx, fixture.Jo, n, fixture.Noon)
		assert.Equal(t, err, nil)
		_, err = o.Tenants.Suspend(ctx, other, n.Name, fixture.Noon)
		assert.Equal(t, err, nil)
	}))
	if err != nil || numbers.String() != "16-20" || others.String() != "7,9,11,13,15" {
		t.Errorf("the batch wrote %s and others %s, %v", numbers, others, err)
	}
	o.WantIntact(t, 20)
}

// TestBatchesAtOnce: batches over the same tenants and keys in other orders wait for each other,
// and their numbers follow each other.
func TestBatchesAtOnce(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	names := addTenants(t, o, 4)
	var ids []string
	for _, name := range names {
		key, _ := o.Issue(t, name)
		ids = append(ids, key.ID)
	}
	var all sync.WaitGroup
	for w := range 6 {
		all.Go(func() {
			by, numbers := noted()
			mine := slices.Clone(ids)
			if w%2 == 1 {
				slices.Reverse(mine)
			}
			err := o.Batch(t.Context(), by, func(ctx context.Context, db *store.DB) error {
				if err := db.Lock(ctx, nil, mine); err != nil {
					return err
				}
				service := keys.Service{Store: db.Keys}
				for _, id := range mine {
					if _, _, err := service.Edit(ctx, by, id, keys.Edit{PerMinute: new(int64(w + 1))}); err != nil {
						return err
					}
				}
				return nil
			})
			if first := (*numbers)[:min(1, len(*numbers))]; err != nil || len(*numbers) != 4 ||
				(*numbers)[3] != first[0]+3 {
				t.Errorf("batch %d: numbers %s, %v", w, numbers, err)
			}
		})
	}
	all.Wait()
	o.WantIntact(t, 8+6*4)
}

// TestBatchOfAStoppedClient: its session ends, and with it the locks that others wait for.
func TestBatchOfAStoppedClient(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	names := addTenants(t, o, 1)
	err := o.Batch(t.Context(), fixture.Jo, func(ctx context.Context, db *store.DB) error {
		if err := db.Lock(ctx, names, nil); err != nil {
			return err
		}
		time.Sleep(11 * time.Second) // longer than Postgres lets a session of staff be silent
		_, err := db.Tenants.Suspend(ctx, fixture.Jo, names[0], fixture.Noon)
		return err
	})
	assert.True(t, err != nil, "a client that stopped for 11 s made its changes")
	_, err = o.Tenants.Suspend(t.Context(), fixture.Jo, names[0], fixture.Noon)
	assert.Equal(t, err, nil, "afterwards")
}
