package server

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

// startRecording records usage for billing and failed requests for support. stop writes the
// buffered rest. If servers share their limits, this one records everything that it admitted in a
// term before it acknowledges the next. Then only silent servers' requests are unknown.
func startRecording(
	db *store.DB,
	m *member,
	shared bool,
	r prometheus.Registerer,
	log zerolog.Logger,
) (*usage.Meter, *usage.FailedRequests, func()) {
	serverID := m.ID()
	meter := usage.NewMeter(db.Usage, usage.Options{ServerID: serverID, Clock: m.clock.Now, Log: log, Announce: shared})
	if shared {
		m.OnEnd(meter.Flush)
	}
	registerUsage(r, meter)
	failed := usage.NewFailedRequests(db.FailedRequests, usage.Options{ServerID: serverID, Log: log})
	stopMeter := background(log, "record usage", meter.Run)
	stopFailed := background(log, "record failed requests", failed.Run)
	return meter, failed, func() {
		stopFailed()
		stopMeter()
	}
}
