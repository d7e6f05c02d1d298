package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

// TestLatestIsWhole: the latest change is all of a batch, however many entries that has, and then the batch before.
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
		if err != nil {
			t.Fatal(err)
		}
	}
	batch(func(ctx context.Context, db *store.DB, name string) error {
		_, err := db.Tenants.Create(ctx, jo, store.NewTenant{Name: name, Plan: plans.Free}, time.Time{})
		return err
	})
	batch(func(ctx context.Context, db *store.DB, name string) error {
		ref := "ref-of-" + name
		_, _, err := db.Tenants.Edit(ctx, jo, name, store.TenantEdit{BillingRef: &ref})
		return err
	})
	batch(func(ctx context.Context, db *store.DB, name string) error {
		_, err := db.Tenants.Suspend(ctx, jo, name, time.Time{})
		return err
	})
	for _, first := range []int64{2*n + 1, n + 1} {
		numbers, err := o.Undos.Latest(t.Context())
		if err != nil || len(numbers) != n || numbers[0] != first || !slices.IsSorted(numbers) {
			t.Fatalf("the latest change has %d entries from %v on, error %v; want %d from %d on", len(numbers), numbers[:min(1, len(numbers))], err, n, first)
		}
		if _, err := o.Undos.Do(t.Context(), jo, numbers, noon); err != nil {
			t.Fatal(err)
		}
	}
	if got := o.text(t, `select count(*) from tenants where suspended_at is not null or billing_ref <> ''`); got != "0" {
		t.Errorf("%s tenants are not as before", got)
	}
	if numbers, err := o.Undos.Latest(t.Context()); !errors.Is(err, store.ErrEntryNotFound) {
		t.Errorf("after all: %v, error %v", numbers, err)
	}
}

// TestReasonIsNoUndo: a change whose reason reads like that of an undo is none: what it changed is not overwritten.
func TestReasonIsNoUndo(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	for i, reason := range []string{"", "", "undo of 3"} {
		ref := fmt.Sprintf("cus_%d", i)
		if _, _, err := o.Tenants.Edit(t.Context(), audit.By{Actor: "jo", Reason: reason}, "acme", store.TenantEdit{BillingRef: &ref}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.Undos.Do(t.Context(), jo, []int64{2}, noon); !strings.Contains(fmt.Sprint(err), "entry 4 (tenant.edit) changed the same later") {
		t.Errorf("undo of 2: %v", err)
	}
	if numbers, err := o.Undos.Latest(t.Context()); err != nil || !slices.Equal(numbers, []int64{4}) {
		t.Errorf("latest %d, error %v; want 4", numbers, err)
	}
}
