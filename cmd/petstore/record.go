package main

import (
	"github.com/rs/zerolog"

	"petstore.example/internal/store"
	"petstore.example/internal/storeclock"
	"petstore.example/internal/usage"
)

// startRecording records usage for billing and refusals for support. stop writes what is still buffered.
func startRecording(db *store.DB, clock *storeclock.Clock, serverID string, log zerolog.Logger) (*usage.Meter, *usage.Refusals, func()) {
	meter := usage.NewMeter(db.Usage, usage.Options{ServerID: serverID, Clock: clock.Now, Log: log})
	refusals := usage.NewRefusals(db.Refusals, usage.Options{ServerID: serverID, Log: log})
	stopMeter := background(log, "record usage", meter.Run)
	stopRefusals := background(log, "record refusals", refusals.Run)
	return meter, refusals, func() {
		stopRefusals()
		stopMeter()
	}
}
