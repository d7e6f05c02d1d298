// Package admission measures, without HTTP, what happens before a request's handler: parsing the key and checking its checksum,
// finding the caller in the directory, and counting in all windows.
package admission

import (
	"context"
	"errors"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// MaxAllocations bounds the allocations of admitting a request in memory.
const MaxAllocations = 4

// Gate is a directory with one caller, and a limiter.
type Gate struct {
	directory *callers.Directory
	limiter   limits.Limiter
	key       string
}

// NewGate returns a gate whose caller is already in the directory, as after a first request.
func NewGate(l limits.Limiter) (*Gate, error) {
	token, err := keys.NewToken(keys.Live)
	if err != nil {
		return nil, err
	}
	g := &Gate{directory: callers.NewDirectory(oneCaller{token.Digest()}, keys.Live, time.Now), limiter: l, key: token.Reveal()}
	g.directory.FeedProven(time.Now().Add(24 * time.Hour)) // The feed works all the time.
	return g, g.Admit(context.Background())
}

// Admit admits one request.
func (g *Gate) Admit(ctx context.Context) error {
	token, err := keys.ParseToken(g.key)
	if err != nil {
		return err
	}
	caller, err := g.directory.Lookup(ctx, token)
	if err != nil {
		return err
	}
	claim := limits.Claim{TenantID: caller.Tenant.ID, KeyID: caller.KeyID, Quota: caller.Tenant.Quota}
	if !g.limiter.Take(ctx, claim, time.Now()).Admitted {
		return errors.New("the request was refused")
	}
	return nil
}

// oneCaller is a store with one key.
type oneCaller struct{ digest keys.Digest }

func (s oneCaller) Callers(_ context.Context, digests []keys.Digest, now time.Time) ([]keys.Caller, error) {
	found := make([]keys.Caller, len(digests))
	for i, d := range digests {
		if d != s.digest {
			continue
		}
		found[i] = keys.Caller{
			KeyID: "key_0123456789abcdef", Environment: keys.Live,
			Tenant: &plans.Tenant{
				ID: 1, Name: "bench", Plan: plans.Enterprise, Quota: plans.Quota{PerMinute: 1e12, PerDay: 1e15}, CreatedAt: now,
			},
		}
	}
	return found, nil
}
