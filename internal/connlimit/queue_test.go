package connlimit

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestIdleLongest compares the queue with a search among all connections, while they are used at
// random.
func TestIdleLongest(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		q := queue{by: byAddress}
		var all []*Conn
		for now := range int64(300) {
			switch n := random.IntN(10); {
			case n < 4 || len(all) == 0:
				c := &Conn{}
				c.used.Store(now)
				q.push(c)
				all = append(all, c)
			case n < 6:
				all[random.IntN(len(all))].used.Store(now)
			case n < 7:
				all[random.IntN(len(all))].authenticated.Store(true)
			case n < 8:
				i := random.IntN(len(all))
				q.remove(all[i])
				all = slices.Delete(all, i, i+1)
			default:
				lowest := slices.MinFunc(all, func(a, b *Conn) int { return int(a.rank() - b.rank()) })
				if got := q.idleLongest(); got.rank() != lowest.rank() {
					t.Fatalf("seed %d: rank %d, want %d", seed, got.rank(), lowest.rank())
				}
			}
			if len(q.conns) != len(all) {
				t.Fatalf("seed %d: %d connections, want %d", seed, len(q.conns), len(all))
			}
		}
	}
}
