package e2e_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	petstore "petstore.example/client"
	"petstore.example/internal/plans"
)

// baseURL is the base URL of links in this test.
const baseURL = "https://api.example.com/v1"

var nextLink = regexp.MustCompile(`<([^>]*)>; rel="next"`)

// TestWalkOverManyAnimals: a client follows Link headers over 100,000 animals while others add and change animals. Each animal that
// existed all the time is seen exactly once, and the last pages take no longer than the first.
func TestWalkOverManyAnimals(t *testing.T) {
	t.Parallel()
	animals, limit := 20_000, 100
	if long() {
		animals = 100_000
	}
	d := newDeployment(t, false)
	servers := []*server{d.serve("PETSTORE_BASE_URL=" + baseURL), d.serve("PETSTORE_BASE_URL=" + baseURL)}
	tn := d.tenant(plans.Enterprise, hugeQuota, 2)
	there := d.insertPets(tn, animals)
	d.exec(`analyze pets`)

	stop := churn(d, servers[1], tn.keys[1].token, there)
	w := walkPages(d, servers[0], tn.keys[0].token, fmt.Sprintf("/pets?limit=%d", limit))
	added, changed := stop()

	t.Logf("%d animals, limit %d: %d pages in %v, by Link; meanwhile %d added and %d changed on another server",
		animals, limit, len(w.pages), w.took.Round(time.Millisecond), added, changed)
	if added == 0 || changed == 0 {
		t.Error("nothing was added or nothing was changed meanwhile")
	}
	missed, twice := 0, 0
	for _, id := range there {
		switch w.seen[id] {
		case 0:
			missed++
		case 1:
		default:
			twice++
		}
		delete(w.seen, id)
	}
	if missed > 0 || twice > 0 {
		t.Errorf("%d of %d animals were missed, %d seen more than once", missed, animals, twice)
	}
	for id, n := range w.seen {
		if n > 1 {
			t.Errorf("animal %d, which was added meanwhile, was seen %d times", id, n)
		}
	}
	checkDepth(d, servers[0], tn.keys[0].token, w.pages[0], w.pages[animals/limit-1])
}

// walked is the result of a walk over all pages.
type walked struct {
	pages []string // paths
	seen  map[int64]int
	took  time.Duration
}

// walkPages follows the links to the next page from a path to the end.
func walkPages(d *deployment, s *server, token, path string) walked {
	d.t.Helper()
	w := walked{seen: map[int64]int{}}
	began := time.Now()
	last := int64(0)
	for path != "" {
		a := d.patient.get(s, token, path)
		var pets []struct{ ID int64 }
		if err := json.Unmarshal(a.body, &pets); err != nil || a.status != http.StatusOK {
			d.t.Fatalf("page %d, %s: %v", len(w.pages)+1, path, a)
		}
		w.pages = append(w.pages, path)
		for _, p := range pets {
			if p.ID <= last {
				d.t.Errorf("page %d, %s: animal %d comes after %d", len(w.pages), path, p.ID, last)
			}
			last = p.ID
			w.seen[p.ID]++
		}
		path = ""
		if m := nextLink.FindStringSubmatch(a.header.Get("Link")); m != nil {
			rest, ok := strings.CutPrefix(m[1], baseURL)
			if !ok || !strings.Contains(rest, "cursor="+a.header.Get("X-Next-Cursor")) {
				d.t.Fatalf("page %d: Link %s, X-Next-Cursor %s", len(w.pages), m[1], a.header.Get("X-Next-Cursor"))
			}
			path = rest
		}
	}
	w.took = time.Since(began)
	return w
}

// churn adds animals, and changes existing ones, until stop is called.
func churn(d *deployment, s *server, token string, there []int64) (stop func() (added, changed int)) {
	d.t.Helper()
	ctx, ended := d.t.Context(), make(chan struct{})
	store := d.store(s, token)
	random := rand.New(rand.NewPCG(1, 2))
	var work sync.WaitGroup
	repeat := func(do func(i int) error) *int {
		done := new(int)
		work.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-ended:
					return
				case <-time.After(10 * time.Millisecond):
				}
				if err := do(i); err != nil {
					d.t.Error(err)
					return
				}
				*done++
			}
		})
		return done
	}
	added := repeat(func(i int) error {
		_, err := store.CreatePet(ctx, petstore.NewPet{Name: fmt.Sprintf("added %d", i), CategoryID: 1})
		return err
	})
	changed := repeat(func(i int) error {
		name, category := fmt.Sprintf("changed %d", i), random.Int64()
		patch := petstore.PetPatch{Name: &name, CategoryID: &category}
		pending := petstore.PetPending
		if random.IntN(2) == 0 {
			patch.Status = &pending
		}
		_, err := store.UpdatePet(ctx, there[random.IntN(len(there))], patch)
		return err
	})
	return func() (int, int) {
		close(ended)
		work.Wait()
		return *added, *changed
	}
}

// checkDepth requests two pages in turn, so that other load on the machine affects both alike.
func checkDepth(d *deployment, s *server, token, first, deep string) {
	d.t.Helper()
	const times, most = 100, 4
	median := func(took []time.Duration) time.Duration {
		slices.SortFunc(took, cmp.Compare)
		return took[len(took)/2]
	}
	var firsts, deeps []time.Duration
	for range times {
		for path, took := range map[string]*[]time.Duration{first: &firsts, deep: &deeps} {
			a := d.patient.get(s, token, path)
			if a.status != http.StatusOK {
				d.t.Fatalf("%s: %v", path, a)
			}
			*took = append(*took, a.took())
		}
	}
	a, b := median(firsts), median(deeps)
	ratio := float64(b) / float64(a)
	d.t.Logf("median of %d: the first page %v, the last %v: ratio %.2f", times, a, b, ratio)
	if ratio > most {
		d.t.Errorf("%s takes %.1f times as long as %s", deep, ratio, first)
	}
}
