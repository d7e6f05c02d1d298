package catalog_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
)

func TestOrderHasTheContractsShape(t *testing.T) {
	t.Parallel()
	o := catalog.Order{
		ID: 7, PetID: math.MaxInt64, Quantity: catalog.MaxQuantity, Status: catalog.Placed,
		CreatedAt: time.Date(2026, time.November, 20, 9, 21, 48, 0, time.UTC),
	}
	got, err := json.Marshal(o)
	want := `{"id":7,"petId":9223372036854775807,"quantity":2147483647,"status":"placed",` +
		`"createdAt":"2026-11-20T09:21:48Z"}`
	assert.Result(t, string(got), err, want)
}

func TestCheckQuantity(t *testing.T) {
	t.Parallel()
	for n, good := range map[int64]bool{
		math.MinInt64: false, -1: false, 0: false, catalog.DefaultQuantity: true,
		1<<31 - 1: true, 1 << 31: false, 1<<32 + 1: false, math.MaxInt64: false,
	} {
		err := catalog.CheckQuantity(n)
		if (err == nil) != good {
			t.Errorf("%d: %v", n, err)
		}
		if err != nil && err.Error() != "quantity must be from 1 to 2147483647" {
			t.Errorf("%d: %v", n, err)
		}
	}
}

func TestParseOrderStatus(t *testing.T) {
	t.Parallel()
	for _, s := range []catalog.OrderStatus{catalog.Placed, catalog.Approved, catalog.Delivered, catalog.Cancelled} {
		if got, ok := catalog.ParseOrderStatus(string(s)); got != s || !ok {
			t.Errorf("%s: %s, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "Placed", "placed ", "canceled", "available"} {
		if got, ok := catalog.ParseOrderStatus(s); ok {
			t.Errorf("%q is taken for %s", s, got)
		}
	}
}

func TestPetPatch(t *testing.T) {
	t.Parallel()
	rex := catalog.Pet{ID: 1, NewPet: catalog.NewPet{Name: "Rex", CategoryID: 2, Status: catalog.Pending}}
	name, category, sold := "Max", int64(-3), catalog.Sold
	for _, tt := range []struct {
		name  string
		patch catalog.PetPatch
		want  catalog.Pet
	}{
		{"nothing", catalog.PetPatch{}, rex},
		{"name", catalog.PetPatch{Name: &name},
			catalog.Pet{ID: 1, NewPet: catalog.NewPet{Name: "Max", CategoryID: 2, Status: catalog.Pending}}},
		{"category", catalog.PetPatch{CategoryID: &category},
			catalog.Pet{ID: 1, NewPet: catalog.NewPet{Name: "Rex", CategoryID: -3, Status: catalog.Pending}}},
		{"all", catalog.PetPatch{Name: &name, CategoryID: &category, Status: &sold},
			catalog.Pet{ID: 1, NewPet: catalog.NewPet{Name: "Max", CategoryID: -3, Status: catalog.Sold}}},
	} {
		got, err := tt.patch.Apply(rex)
		assert.Result(t, got, err, tt.want, tt.name)
	}
}
