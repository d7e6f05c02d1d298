package distributed

import (
	"context"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

// traced is a Backend whose calls for a request are part of the request's trace. Take has no context: see redisMode.sendTraced.
type traced struct {
	Backend
	trace func(ctx context.Context, script string) (context.Context, func(error))
}

func (t traced) call(ctx context.Context, script string, do func(context.Context) error) error {
	ctx, end := t.trace(ctx, script)
	err := do(ctx)
	if end != nil {
		end(err)
	}
	return err
}

// InitTenant implements Backend.
func (t traced) InitTenant(ctx context.Context, term, tenantID int64, b counter.Baseline, changing bool) error {
	return t.call(ctx, "inittenant", func(ctx context.Context) error { return t.Backend.InitTenant(ctx, term, tenantID, b, changing) })
}

// InitKey implements Backend.
func (t traced) InitKey(ctx context.Context, term, tenantID int64, keyID string, minute, used int64) error {
	return t.call(ctx, "initkey", func(ctx context.Context) error { return t.Backend.InitKey(ctx, term, tenantID, keyID, minute, used) })
}

// Refund implements Backend.
func (t traced) Refund(ctx context.Context, term int64, c *limits.Claim, minute, day int64) error {
	return t.call(ctx, "refund", func(ctx context.Context) error { return t.Backend.Refund(ctx, term, c, minute, day) })
}

// BeginWrite implements Backend.
func (t traced) BeginWrite(ctx context.Context, term, tenantID int64) (version int64, ok bool, err error) {
	err = t.call(ctx, "beginwrite", func(ctx context.Context) (err error) {
		version, ok, err = t.Backend.BeginWrite(ctx, term, tenantID)
		return err
	})
	return version, ok, err
}
