//go:build linux

package running_test

import (
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"testing"

	petstore "petstore.example/client"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// importedDuringRestart returns how many animals are added at least, from before the servers are
// restarted to after it.
func importedDuringRestart() int {
	if os.Getenv("PETSTORE_SOAK") != "" {
		return 10_000
	}
	return 2_000
}

// TestImportDuringRestart: the client for Go imports through nginx while one server after the other
// is restarted. No row is lost, and none is added twice.
func TestImportDuringRestart(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	key := newCustomer(t, database)
	f := newPair(t, programs.Path(t, "petstore"), database.APIURL, newRedis(t))
	p := nginx.start(t, f)
	shop, err := petstore.New(base, key, petstore.WithHTTPClient(p.client(t, "127.0.0.1")))
	assert.NoError(t, err)
	var done, replayed, rows atomic.Int64
	var restarted atomic.Bool
	animals := func(yield func(petstore.NewPet) bool) {
		for n := range math.MaxInt64 {
			if n >= importedDuringRestart() && restarted.Load() {
				return
			}
			if rows.Add(1); !yield(petstore.NewPet{Name: fmt.Sprint("Rex ", n), CategoryID: 7}) {
				return
			}
		}
	}
	ended := make(chan error, 1)
	go func() {
		ended <- shop.ImportPets(t.Context(), animals, petstore.Import{
			Source: "animals.csv", Concurrency: 16,
			Each: func(row petstore.ImportedRow) {
				if done.Add(1); row.Replayed {
					replayed.Add(1)
				}
			},
		})
	}()
	wait.Until(t, "the import has begun", func() bool { return done.Load() > 100 })
	f.restart(0)
	f.restart(1)
	t.Logf("%d rows were added before both servers had been restarted", done.Load())
	restarted.Store(true)
	assert.NoError(t, <-ended)
	names := map[string]int{}
	for pet, err := range shop.Pets(t.Context(), petstore.ListPetsParams{}) {
		assert.NoError(t, err)
		names[pet.Name]++
	}
	t.Logf("%d animals, %d answers were lost and had again", len(names), replayed.Load())
	assert.Equal(t, int64(len(names)), rows.Load(), "animals")
	for name, n := range names {
		assert.Equal(t, n, 1, name)
	}
}
