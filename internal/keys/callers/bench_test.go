package callers

import (
	"context"
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// manyCallers knows every key.
type manyCallers struct{}

func (manyCallers) Caller(_ context.Context, d keys.Digest, _ time.Time) (keys.Caller, error) {
	return keys.Caller{KeyID: fmt.Sprintf("key_%x", d[:8]), Environment: keys.Live, Tenant: &plans.Tenant{ID: int64(d[8]) + 1}}, nil
}

// With changes, another tenant changed after all callers were looked up.
func BenchmarkFind(b *testing.B) {
	for _, changes := range []bool{false, true} {
		b.Run(fmt.Sprintf("changes=%v", changes), func(b *testing.B) {
			d := NewDirectory(manyCallers{}, keys.Live, time.Now)
			d.FeedProven(time.Now().Add(time.Hour))
			tokens := make([]keys.Token, 1024)
			for i := range tokens {
				var err error
				if tokens[i], err = keys.NewToken(keys.Live); err != nil {
					b.Fatal(err)
				}
				if _, err = d.Lookup(b.Context(), tokens[i]); err != nil {
					b.Fatal(err)
				}
			}
			if changes {
				d.TenantChanged(1000)
			}
			arrived := time.Now() // A request knows that already.
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, err := d.Find(b.Context(), tokens[i%len(tokens)], arrived); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
