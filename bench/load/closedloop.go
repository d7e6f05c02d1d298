package load

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// ClosedLoop sends the target's request on Target.Clients connections in turn, Options.Connections at a time, as fast as the responses
// arrive. Each connection sends one of the target's keys all the time, as a customer's program does and wrk cannot. Before the run begins
// each has had a response.
func ClosedLoop(ctx context.Context, t Target, o Options) (Result, error) {
	conns, err := t.dialAll(ctx)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	if err != nil {
		return Result{}, fmt.Errorf("make %d connections (ulimit -n must allow as many files, and some more): %w", t.Clients, err)
	}
	r, _, err := o.run(ctx, t, 0, func() (Result, error) { return closedLoop(conns, o) })
	return r, err
}

// dialAll makes the connections, also those that it made before an error.
func (t Target) dialAll(ctx context.Context) ([]*conn, error) {
	conns := make([]*conn, t.Clients)
	dialing := errgroup.Group{}
	dialing.SetLimit(32) // Fewer than servers accept at once.
	for i := range conns {
		dialing.Go(func() (err error) {
			if conns[i], err = t.dial(ctx, i%max(1, len(t.Keys))); err != nil {
				return err
			}
			return conns[i].roundTrip()
		})
	}
	return conns, dialing.Wait()
}

func closedLoop(conns []*conn, o Options) (Result, error) {
	took := make([][]time.Duration, min(o.Connections, len(conns)))
	var sending errgroup.Group
	start := time.Now()
	for i := range took {
		sending.Go(func() error {
			next := i
			for now := time.Now(); now.Sub(start) < o.Duration; {
				if err := conns[next].roundTrip(); err != nil {
					return err
				}
				sent := now
				now = time.Now()
				took[i] = append(took[i], now.Sub(sent))
				if next += len(took); next >= len(conns) {
					next = i // Each of these has connections of its own.
				}
			}
			return nil
		})
	}
	if err := sending.Wait(); err != nil {
		return Result{}, fmt.Errorf("send on %d connections: %w", len(conns), err)
	}
	return resultOf(time.Since(start), took...), nil
}
