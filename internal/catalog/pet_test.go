package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
)

func TestParseStatus(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]catalog.Status{"available": catalog.Available, "pending": catalog.Pending,
		"sold": catalog.Sold, "": "", "Sold": ""} {
		got, ok := catalog.ParseStatus(s)
		assert.Equal(t, got, want, s)
		assert.Equal(t, ok, want != "", s)
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]string{
		"R": "", " é ": "", strings.Repeat("é", 255): "",
		"": "empty", " \u00a0": "white space", "a\x00b": "NUL", strings.Repeat("é", 256): "not 256",
	} {
		if err := catalog.CheckName(name); (err == nil) != (wrong == "") ||
			err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %v, want %q", name, err, wrong)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	rex, seven, eight := catalog.Pet{
		ID:     1,
		NewPet: catalog.NewPet{Name: "Rex", CategoryID: 7, Status: catalog.Sold},
	}, int64(7), int64(
		8,
	)
	for name, c := range map[string]struct {
		page catalog.Page
		want bool
	}{
		"all":              {catalog.Page{}, true},
		"status":           {catalog.Page{Status: catalog.Sold}, true},
		"another status":   {catalog.Page{Status: catalog.Pending}, false},
		"ID":               {catalog.Page{IDs: []int64{3, 1}}, true},
		"no ID":            {catalog.Page{IDs: []int64{}}, false},
		"category":         {catalog.Page{CategoryID: &seven}, true},
		"another category": {catalog.Page{CategoryID: &eight}, false},
		"prefix":           {catalog.Page{NamePrefix: "Re"}, true},
		"another prefix":   {catalog.Page{NamePrefix: "ex"}, false},
	} {
		assert.Equal(t, c.page.Matches(rex), c.want, name)
	}
}

// TestPreconditions: what must not be changed is not, and it stays for the change to say why.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	for _, want := range []error{nil, errors.New("changed since")} {
		pet, err := catalog.PetPatch{Precondition: func(catalog.Pet) error { return want }}.Apply(catalog.Pet{ID: 1})
		assert.ErrorIs(t, err, want, "animal")
		assert.Equal(t, pet.ID == 1, want == nil, "animal")
		order, err := catalog.OrderPatch{
			Status:       catalog.Approved,
			Precondition: func(catalog.Order) error { return want },
		}.Apply(catalog.Order{ID: 1, Status: catalog.Placed})
		assert.ErrorIs(t, err, want, "order")
		assert.Equal(t, order.Status == catalog.Approved, want == nil, "order")
	}
	_, err := catalog.OrderPatch{Status: catalog.Delivered}.Apply(catalog.Order{Status: catalog.Placed})
	assert.True(t, errors.As(err, new(*catalog.TransitionError)), "a step that is not allowed", err)
}

func TestTransitionErrors(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]catalog.TransitionError{
		"An animal that is sold cannot become pending, because sold is final": {Item: "animal", From: "sold",
			To: "pending"},
		"An order that is a cannot become d, only b or c": {Item: "order", From: "a", To: "d",
			Allowed: []string{"b", "c"}},
		"An animal that is a cannot become b while an order holds it: deliver or cancel the order": {
			Item: "animal", From: "a", To: "b", Held: true, Allowed: []string{"c"},
		},
	} {
		assert.Equal(t, e.Error(), want)
	}
}
