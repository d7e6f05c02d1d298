package catalog_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

func TestPets(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	pets := s.Add(t, s.A, "Rex", "  ünï\u2028code 🐈 ", strings.Repeat("x", 255), "'; drop table pets; --", "five")
	other := s.Add(t, s.B, "other")
	assert.DeepEqual(t, s.AllPets(t, s.B.ID), other, "B's list")
	_, err := s.Pets.GetPet(t.Context(), s.B.ID, pets[0].ID)
	assert.ErrorIs(t, err, catalog.ErrPetNotFound, "B gets A's animal")
	for _, want := range pets {
		got, err := s.Pets.GetPet(t.Context(), s.A.ID, want.ID)
		assert.Result(t, got, err, want, "GetPet", want.ID)
	}
	for _, tt := range []struct {
		name string
		page catalog.Page
		want []catalog.Pet
		more bool
	}{
		{"all", catalog.Page{Limit: 100}, pets, false},
		{"exactly all", catalog.Page{Limit: 5}, pets, false},
		{"first", catalog.Page{Limit: 2}, pets[:2], true},
		{"middle", catalog.Page{Limit: 2, After: pets[1].ID}, pets[2:4], true},
		{"last", catalog.Page{Limit: 2, After: pets[3].ID}, pets[4:], false},
		{"past the end", catalog.Page{Limit: 2, After: math.MaxInt64}, []catalog.Pet{}, false},
		{"by status", catalog.Page{Limit: 1, Status: catalog.Available}, pets[:1], true},
		{"by status, last", catalog.Page{Limit: 2, Status: catalog.Available, After: pets[0].ID}, pets[3:4], false},
	} {
		got, next, err := s.Pets.ListPets(t.Context(), s.A.ID, tt.page)
		wantNext := int64(0)
		if tt.more {
			wantNext = tt.want[len(tt.want)-1].ID
		}
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" || next != wantNext {
			t.Errorf("%s: %v, the next page after %d, want %d; (-want +got):\n%s", tt.name, err, next, wantNext, diff)
		}
	}
}

// Full pages of lists outlive creates because an animal that is added later has a higher ID (ADR
// 8): sessions must have no blocks of IDs.
func TestAnimalsHaveRisingIDs(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	assert.Equal(
		t,
		s.Text(t, `select cache_size::text from pg_sequences where sequencename = 'pets_id_seq'`),
		"1",
		"IDs a session takes at once",
	)
}
