package main

import (
	"github.com/rs/zerolog"

	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

// startRecording records usage for billing and refusals for support. stop writes what is still buffered.
func startRecording(db *store.DB, serverID string, log zerolog.Logger) (*usage.Meter, *usage.Refusals, func()) {
	o := usage.Options{ServerID: serverID, Log: log}
	meter, refusals := usage.NewMeter(db.Usage, o), usage.NewRefusals(db.Refusals, o)
	stopMeter := background(log, "record usage", meter.Run)
	stopRefusals := background(log, "record refusals", refusals.Run)
	return meter, refusals, func() {
		stopRefusals()
		stopMeter()
	}
}
