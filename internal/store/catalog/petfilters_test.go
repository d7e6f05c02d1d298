package catalog_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

// names are such that a prefix as a pattern, in another collation or cut at the wrong code point
// would find other animals.
var names = []string{
	"Rex",
	"rex",
	"Re",
	"R",
	"REX",
	"Rey",
	"Re%x",
	"Re_x",
	"Re\\x",
	"Rex II",
	"réx",
	"re\u0301x",
	"\uFFFDx",
	"\uD7FFa",
	"\uD7FF",
	"\uE000",
	"é",
	"e",
	"f",
	"ß",
	"ss",
	"\U0010FFFF",
	"\U0010FFFFx",
	"z\U0010FFFFz",
	"z\U0010FFFE",
	"zz",
	"{",
	"  x",
	" \t",
	"'",
	"犬",
	"犬二",
}

// traverse returns the animals of all pages.
func traverse(t *testing.T, s fixture.Shop, tenantID int64, p catalog.Page) (all []catalog.Pet, pages int) {
	t.Helper()
	for {
		pets, next, err := s.Pets.ListPets(t.Context(), tenantID, p)
		if err != nil || len(pets) > p.Limit || next != 0 && next <= p.After {
			t.Fatalf("%+v: %d animals, the next page after %d, %v", p, len(pets), next, err)
		}
		all = append(all, pets...)
		if pages++; next == 0 {
			return all, pages
		}
		p.After = next
	}
}

// TestPetFilters compares lists by random filters with what catalog.Page says of them.
func TestPetFilters(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	random := rand.New(rand.NewPCG(1, 2))
	statuses := []catalog.Status{catalog.Available, catalog.Pending, catalog.Sold}
	categories := []int64{math.MinInt64, 0, 7, math.MaxInt64}
	for range 300 {
		tenant := s.A
		if random.IntN(3) == 0 {
			tenant = s.B
		}
		n := catalog.NewPet{
			Name:       names[random.IntN(len(names))],
			CategoryID: categories[random.IntN(4)],
			Status:     statuses[random.IntN(3)],
		}
		_, err := s.Pets.CreatePet(t.Context(), tenant.ID, n)
		assert.NoError(t, err)
	}
	all := s.AllPets(t, s.A.ID)
	found := 0
	for range 600 {
		p := catalog.Page{Limit: 1 + random.IntN(30)}
		if random.IntN(2) == 0 {
			p.Status = statuses[random.IntN(3)]
		}
		if random.IntN(2) == 0 {
			p.CategoryID = &categories[random.IntN(4)]
		}
		if random.IntN(2) == 0 {
			name := []rune(names[random.IntN(len(names))])
			p.NamePrefix = string(name[:1+random.IntN(len(name))])
		}
		if random.IntN(3) == 0 {
			p.IDs = []int64{math.MinInt64, 0, math.MaxInt64}
			for range random.IntN(97) {
				p.IDs = append(p.IDs, random.Int64N(400)) // also of the other tenant, of nobody, and some twice
			}
		}
		if random.IntN(4) == 0 {
			p.After = random.Int64N(310)
		}
		var want []catalog.Pet
		for _, pet := range all {
			if pet.ID > p.After && p.Matches(pet) {
				want = append(want, pet)
			}
		}
		got, _ := traverse(t, s, s.A.ID, p)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v (-want +got):\n%s", p, diff)
		}
		found += len(got)
	}
	assert.True(t, found >= 1000, "all lists together have", found, "animals, so they show little")
}

// TestCommonNames: of a prefix that very many animals have, every page takes bounded work, and all
// pages together have all animals.
func TestCommonNames(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	// Animals that are called Ann are many and, but for one, behind the others.
	s.Exec(t, fmt.Sprintf(`
		insert into pets (tenant_id, name, category_id, status, created_at)
		select %d, case when n = 1000 or n > 24000 then 'Ann ' else 'Bea ' end || n, n %% 3, case when n %% 7 = 0 then
			'sold' else 'available' end, now()
		from generate_series(1, 35000) n`, s.A.ID))
	for _, p := range []catalog.Page{
		{NamePrefix: "Ann"}, {NamePrefix: "Ann", Status: catalog.Sold}, {NamePrefix: "A", CategoryID: new(int64(2))},
		{NamePrefix: "Ann", CategoryID: new(int64(1)), Status: catalog.Available}, {NamePrefix: "Bea 1234"},
		{NamePrefix: "Ann 3000"}, {NamePrefix: "Ca"},
	} {
		p.Limit = 2000
		got, pages := traverse(t, s, s.A.ID, p)
		var want []catalog.Pet
		everything := p
		everything.NamePrefix = ""
		rest, _ := traverse(t, s, s.A.ID, everything)
		for _, pet := range rest {
			if strings.HasPrefix(pet.Name, p.NamePrefix) {
				want = append(want, pet)
			}
		}
		assert.DeepEqual(t, want, got, p, len(got), "animals, want", len(want))
		if p.NamePrefix == "Ann" && p.Status == "" && (pages < 12 || len(got) != 11_001) {
			t.Errorf("%d animals called Ann on %d pages", len(got), pages)
		}
	}
}
