package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/people"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
)

// TestLatestIsWhole: the latest change is all of a batch, however many entries that has, and then the undo of it.
func TestLatestIsWhole(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	const n = 230
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%d", i)
	}
	batch := func(change func(context.Context, *store.DB, string) error) {
		err := o.Batch(t.Context(), jo, func(ctx context.Context, db *store.DB) error {
			for _, name := range names {
				if err := change(ctx, db, name); err != nil {
					return err
				}
			}
			return nil
		})
		assert.NoError(t, err)
	}
	batch(func(ctx context.Context, db *store.DB, name string) error {
		_, err := db.Tenants.Create(ctx, jo, people.NewTenant{Name: name, Plan: plans.Free}, time.Time{})
		return err
	})
	batch(func(ctx context.Context, db *store.DB, name string) error {
		ref := "ref-of-" + name
		_, _, err := db.Tenants.Edit(ctx, jo, name, people.TenantEdit{BillingRef: &ref})
		return err
	})
	batch(func(ctx context.Context, db *store.DB, name string) error {
		_, err := db.Tenants.Suspend(ctx, jo, name, time.Time{})
		return err
	})
	for i, want := range []string{"0 230", "230 230"} {
		numbers, err := o.Undos.Latest(t.Context())
		first := int64((2+i)*n + 1)
		if err != nil || len(numbers) != n || numbers[0] != first || !slices.IsSorted(numbers) {
			t.Fatalf("the latest change has %d entries from %v on, error %v; want %d from %d on", len(numbers), numbers[:min(1, len(numbers))], err, n, first)
		}
		_, err = o.Undos.Do(t.Context(), jo, numbers, noon)
		assert.NoError(t, err)
		if got := o.text(t, `select concat_ws(' ', count(suspended_at), count(billing_ref)) from tenants`); got != want {
			t.Errorf("%s tenants are suspended or have a reference, want %s", got, want)
		}
	}
	// What is older than 30 days is passed over.
	o.exec(t, `alter table audit_entries disable trigger user; update audit_entries set at = at - interval '31 days'; alter table audit_entries enable trigger user`)
	if numbers, err := o.Undos.Latest(t.Context()); !errors.Is(err, trail.ErrEntryNotFound) {
		t.Errorf("after 31 days: %v, error %v", numbers, err)
	}
}

// TestOnlyTheLatestIsUndone: an earlier change of the same subject is refused, and the later one named, whatever either changed; both are
// taken back together.
func TestOnlyTheLatestIsUndone(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	ref, contact := "cus_1", "Jo"
	for _, e := range []people.TenantEdit{{BillingRef: &ref}, {Contact: &contact}} {
		_, _, err := o.Tenants.Edit(t.Context(), jo, "acme", e)
		assert.NoError(t, err)
	}
	const want = "entry 2 (tenant.edit) can't be undone: entry 3 (tenant.edit) is later, and only the latest change of a subject can be undone"
	if _, err := o.Undos.Do(t.Context(), jo, []int64{2}, noon); !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("undo of 2: %v", err)
	}
	if _, err := o.Undos.Do(t.Context(), jo, []int64{2, 3}, noon); err != nil {
		t.Errorf("undo of both: %v", err)
	}
	if got := o.text(t, `select concat(billing_ref, contact) from tenants`); got != "" {
		t.Errorf("%s is left", got)
	}
}
