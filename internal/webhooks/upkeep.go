package webhooks

import (
	"context"
	"time"
)

// resealed is how many secrets are sealed anew at a time.
const resealed = 100

// report says which keys and relay this server has, learns what is waiting, and seals secrets with
// the first key.
func (d *Deliverer) report(ctx context.Context) error {
	var relay *string
	if d.Relay != nil {
		relay = new(d.Relay())
	}
	backlog, err := d.Outbox.Report(ctx, d.holder, d.keyIDs(), relay)
	if err != nil {
		return err
	}
	d.endpoints.Store(backlog.Endpoints)
	d.OnBacklog(backlog)
	return d.reseal(ctx)
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

// every calls do at once and then each period, until ctx ends. what is the message of its errors in
// the log.
func (d *Deliverer) every(ctx context.Context, period time.Duration, what string, do func(context.Context) error) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			d.Log.Warn().Err(err).Msg(what)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
