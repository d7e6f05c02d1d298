package catalogue

import (
	"errors"
	"math/rand/v2"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/test/assert"
)

// Each animal belongs to who asked for the same, in whatever order Postgres returns the rows. One
// that nobody asked for has no place.
func TestPetBatch(t *testing.T) {
	t.Parallel()
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	for range 200 {
		asked := make([]catalog.NewPet, 1+random.IntN(64))
		for i := range asked {
			asked[i] = catalog.NewPet{
				Name:       []string{"Rex", "Luna", "Milo"}[random.IntN(3)],
				CategoryID: random.Int64N(3),
				Status:     catalog.Sold,
			}
		}
		b := newPetBatch(asked)
		var last catalog.Pet
		for n, from := range random.Perm(len(asked)) {
			last = catalog.Pet{ID: int64(n + 1), NewPet: asked[from]}
			assert.NoError(t, b.add(last), last)
		}
		created := make([]catalog.Outcome[catalog.Pet], len(asked))
		assert.NoError(t, b.created(created))
		ids := map[int64]bool{}
		for i, o := range created {
			p := o.Result
			ids[p.ID] = true
			if (catalog.NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}) != asked[i] {
				t.Fatalf("%+v for %+v", p, asked[i])
			}
		}
		if len(ids) != len(asked) || ids[0] {
			t.Fatalf("%d animals have the IDs %v", len(asked), ids)
		}
		if b.add(last) == nil {
			t.Fatalf("%+v has a second place", last)
		}
	}
}

// When Postgres goes while requests are tried alone, nobody knows of the one that was sent. Those
// behind it certainly were not made.
func TestTryEach(t *testing.T) {
	t.Parallel()
	outcomes := tryEach(make([]catalog.Outcome[int], 3), func(i int) (int, error) {
		return i, []error{nil, pgconn.ErrUnavailable}[i] // The third is not tried.
	})
	assert.NoError(t, outcomes[0].Err)
	assert.ErrorIs(t, outcomes[1].Err, pgconn.ErrUnavailable)
	assert.True(t, !errors.Is(outcomes[1].Err, catalog.ErrNotMade), "the one that was sent counts as not made")
	assert.ErrorIs(t, outcomes[2].Err, catalog.ErrNotMade)
}
