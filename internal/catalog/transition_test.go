package catalog_test

import (
	"errors"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
)

// The customer's words for every step that is forbidden; "" for those that are allowed.
func TestPetSteps(t *testing.T) {
	t.Parallel()
	const a, p, s = catalog.Available, catalog.Pending, catalog.Sold
	checkSteps(t, []catalog.Status{a, p, s}, catalog.Status.CheckStep, map[[2]catalog.Status]string{
		{a, a}: "", {a, p}: "", {a, s}: "An animal that is available cannot become sold, only pending",
		{p, a}: "", {p, p}: "", {p, s}: "",
		{s, a}: "An animal that is sold cannot become available, because sold is final",
		{s, p}: "An animal that is sold cannot become pending, because sold is final",
		{s, s}: "",
	})
}

func TestOrderSteps(t *testing.T) {
	t.Parallel()
	const p, a, d, c = catalog.Placed, catalog.Approved, catalog.Delivered, catalog.Cancelled
	checkSteps(t, []catalog.OrderStatus{p, a, d, c}, catalog.OrderStatus.CheckStep, map[[2]catalog.OrderStatus]string{
		{p, p}: "",
		{p, a}: "",
		{p, d}: "An order that is placed cannot become delivered, only approved or cancelled",
		{p, c}: "",
		{a, p}: "An order that is approved cannot become placed, only delivered or cancelled",
		{a, a}: "",
		{a, d}: "",
		{a, c}: "",
		{d, p}: "An order that is delivered cannot become placed, because delivered is final",
		{d, a}: "An order that is delivered cannot become approved, because delivered is final",
		{d, d}: "",
		{d, c}: "An order that is delivered cannot become cancelled, because delivered is final",
		{c, p}: "An order that is cancelled cannot become placed, because cancelled is final",
		{c, a}: "An order that is cancelled cannot become approved, because cancelled is final",
		{c, d}: "An order that is cancelled cannot become delivered, because cancelled is final",
		{c, c}: "",
	})
}

func checkSteps[S ~string](t *testing.T, all []S, check func(S, S) error, want map[[2]S]string) {
	t.Helper()
	for _, from := range all {
		for _, to := range all {
			words, named := want[[2]S{from, to}]
			assert.True(t, named, from, "→", to, "is missing from the table")
			got, err := "", check(from, to)
			if err != nil {
				got = err.Error()
			}
			if got != words || errors.Is(err, catalog.ErrInvalidTransition) != (words != "") {
				t.Errorf("%s → %s: %q, want %q", from, to, got, words)
			}
		}
	}
}

// Every step of an order is one that its animal may take too.
func TestOrderStepsMoveTheAnimalByItsRules(t *testing.T) {
	t.Parallel()
	all := []catalog.OrderStatus{catalog.Placed, catalog.Approved, catalog.Delivered, catalog.Cancelled}
	for _, from := range all {
		for _, to := range all {
			if from.CheckStep(to) != nil {
				continue
			}
			assert.Equal(t, from.PetStatus().CheckStep(to.PetStatus()), nil, from, "→", to, "the animal's")
		}
	}
	want := map[catalog.OrderStatus]catalog.Status{
		catalog.Placed:    catalog.Pending,
		catalog.Approved:  catalog.Pending,
		catalog.Delivered: catalog.Sold,
		catalog.Cancelled: catalog.Available,
	}
	for order, pet := range want {
		assert.Equal(t, order.PetStatus(), pet, "the animal of an order that is", order)
	}
}
