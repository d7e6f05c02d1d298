package webhooks

import (
	"context"
	"time"
)

// resealed is how many secrets are sealed anew at a time.
const resealed = 100

// report says which keys this server has, learns what is waiting, and seals secrets with the first
// key, until ctx ends.
func (d *Deliverer) report(ctx context.Context) {
	every(ctx, reportEvery, func() {
		backlog, err := d.Outbox.Report(ctx, d.holder, d.keyIDs())
		if err == nil {
			d.endpoints.Store(backlog.Endpoints)
			d.OnBacklog(backlog)
			err = d.reseal(ctx)
		}
		if err != nil && ctx.Err() == nil {
			d.Log.Warn().Err(err).Msg("look after webhooks")
		}
	})
}

// reseal seals some secrets with the first key that are sealed with the second.
func (d *Deliverer) reseal(ctx context.Context) error {
	if len(d.keyIDs()) < 2 {
		return nil
	}
	stale, err := d.Outbox.Stale(ctx, d.keyIDs(), resealed)
	if err != nil {
		return err
	}
	for _, old := range stale {
		secret, err := d.Sealer.Open(old.EndpointID, old.Sealed)
		if err != nil {
			d.Log.Error().Err(err).Int64("endpoint", old.EndpointID).Msg("seal a secret anew")
			continue
		}
		if err := d.Outbox.Reseal(ctx, old, d.Sealer.Seal(old.EndpointID, secret)); err != nil {
			return err
		}
	}
	return nil
}

// tell adds the events that time makes, until ctx ends.
func (d *Deliverer) tell(ctx context.Context) {
	every(ctx, tellEvery, func() {
		if err := d.Outbox.Tell(ctx); err != nil && ctx.Err() == nil {
			d.Log.Warn().Err(err).Msg("add webhooks that are due")
		}
	})
}

// prune removes what is old until ctx ends.
func (d *Deliverer) prune(ctx context.Context) {
	every(ctx, pruneEvery, func() {
		if err := d.Outbox.Prune(ctx); err != nil && ctx.Err() == nil {
			d.Log.Warn().Err(err).Msg("remove old webhooks")
		}
	})
}

// every calls do now, and then each d until ctx ends.
func every(ctx context.Context, d time.Duration, do func()) {
	ticker := time.NewTicker(d)
	defer ticker.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
