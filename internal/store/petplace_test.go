package store

import (
	"math/rand/v2"
	"testing"

	"petstore.example/internal/catalog"
)

// Each animal belongs to who asked for the same, in whatever order Postgres returns the rows. One that nobody asked for has no place.
func TestPlaceOf(t *testing.T) {
	t.Parallel()
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	for range 200 {
		asked := make([]catalog.NewPet, 1+random.IntN(64))
		for i := range asked {
			asked[i] = catalog.NewPet{Name: []string{"Rex", "Luna", "Milo"}[random.IntN(3)], CategoryID: random.Int64N(3), Status: catalog.Sold}
		}
		created := make([]catalog.Created, len(asked))
		for n, from := range random.Perm(len(asked)) {
			pet := catalog.Pet{ID: int64(n + 1), Name: asked[from].Name, CategoryID: asked[from].CategoryID, Status: asked[from].Status}
			i := placeOf(pet, asked, created, n)
			if i < 0 || asked[i] != asked[from] || created[i].Pet.ID != 0 {
				t.Fatalf("place %d for %+v", i, pet)
			}
			created[i].Pet = pet
		}
		if i := placeOf(created[0].Pet, asked, created, 0); i >= 0 {
			t.Fatalf("a second place, %d, for %+v", i, created[0].Pet)
		}
	}
}
