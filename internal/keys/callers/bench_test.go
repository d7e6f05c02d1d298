package callers

import (
	"context"
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/storeclock"
)

// manyCallers knows every key. Its tenants have another plan next, if it comes.
type manyCallers struct{ next *plans.Tenant }

func (m manyCallers) Callers(_ context.Context, digests []keys.Digest, _ time.Time) ([]keys.Caller, error) {
	found := make([]keys.Caller, len(digests))
	for i, d := range digests {
		t := &plans.Tenant{ID: int64(d[8]) + 1}
		if m.next != nil {
			t.Next, t.Until = m.next, time.Now().Add(time.Hour)
		}
		found[i] = keys.Caller{KeyID: fmt.Sprintf("key_%x", d[:8]), Environment: keys.Live, Tenant: t}
	}
	return found, nil
}

// With changes, another tenant changed after all callers were looked up; with coming, all tenants have another plan in an hour.
func BenchmarkFind(b *testing.B) {
	for name, store := range map[string]manyCallers{"changes=false": {}, "changes=true": {}, "coming": {&plans.Tenant{}}} {
		b.Run(name, func(b *testing.B) {
			d := NewDirectory(store, keys.Live, storeclock.New().Now)
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
			if name == "changes=true" {
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
