package main

import (
	"context"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

// startRecording records usage for billing and refusals for support. stop writes what is still buffered. If servers share their limits,
// all that this one admitted in a term is recorded before it acknowledges the next: then only what silent servers admitted is unknown.
func startRecording(db *store.DB, m *member, shared bool, log zerolog.Logger) (*usage.Meter, *usage.Refusals, func()) {
	serverID := m.ID()
	meter := usage.NewMeter(db.Usage, usage.Options{ServerID: serverID, Clock: m.clock.Now, Log: log, Announce: shared})
	if shared {
		m.OnEnd(func(ctx context.Context, _ cluster.Term, _ bool) error { return meter.Flush(ctx) })
	}
	refusals := usage.NewRefusals(db.Refusals, usage.Options{ServerID: serverID, Log: log})
	stopMeter := background(log, "record usage", meter.Run)
	stopRefusals := background(log, "record refusals", refusals.Run)
	return meter, refusals, func() {
		stopRefusals()
		stopMeter()
	}
}
