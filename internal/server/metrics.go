package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/usage"
)

// registerHealth registers the findings of /readyz as metrics.
//
//nolint:funlen // a list of metrics
func registerHealth(r prometheus.Registerer, h *health) {
	v := values{r}
	v.gauge(
		"petstore_database_up",
		"1 if Postgres answers, as in /readyz.",
		nil,
		func() float64 { return oneIf(h.database.check() == nil) },
	)
	v.gauge(
		"petstore_limits_degraded",
		"1 if Redis is configured but limits are enforced without it.",
		nil,
		func() float64 {
			return oneIf(h.limiter.state() == "down")
		},
	)
	v.gauge(
		"petstore_limits_cut_off",
		"1 if only this server can't reach Redis: its requests are refused.",
		nil,
		func() float64 {
			return oneIf(h.limiter.state() == "cut_off")
		},
	)
	for _, mode := range modes {
		v.gauge(
			"petstore_limits_mode",
			"1 for the mode in which this server decides over limits, 0 for the others.",
			prometheus.Labels{"mode": mode},
			func() float64 { return oneIf(h.limiter.mode() == mode) },
		)
	}
	v.gauge(
		"petstore_term_up",
		"0 if this server has had no term to decide limits in for some seconds: requests are refused.",
		nil,
		func() float64 {
			return oneIf(!h.term.lost.Load())
		},
	)
	v.gauge("petstore_term_number", "The number of the term in force on this server, 0 for none.", nil, func() float64 {
		t, ok := h.member.Term()
		return float64(t.Number) * oneIf(ok)
	})
	v.gauge("petstore_term_servers", "How many servers were live when the term in force began.", nil, func() float64 {
		t, ok := h.member.Term()
		return float64(t.Servers) * oneIf(ok)
	})
	v.gauge(
		"petstore_change_feed_up",
		"1 if this server is notified of changes to keys, tenants, plans and bans.",
		nil,
		func() float64 {
			return oneIf(h.directory.FeedHealthy())
		},
	)
	v.gauge(
		"petstore_clock_ahead_seconds",
		"By how much this server's clock is ahead of Postgres's, negative if it is behind.",
		nil,
		func() float64 {
			return h.clock.Ahead().Seconds()
		},
	)
	for _, check := range startChecks {
		v.gauge(
			"petstore_start_warning",
			"1 if this server warned at its start, by check.",
			prometheus.Labels{"check": check},
			func() float64 {
				return oneIf(h.found[check] != "")
			},
		)
	}
}

// registerUsage registers the metrics of usage recorded for billing.
func registerUsage(r prometheus.Registerer, meter *usage.Meter) {
	v := values{r}
	v.gauge(
		"petstore_usage_unrecorded_requests",
		"Requests that are counted and not yet recorded in Postgres.",
		nil,
		func() float64 {
			return float64(meter.Backlog().Requests)
		},
	)
	v.gauge(
		"petstore_usage_unrecorded_age_seconds",
		"Age of the oldest request that is not yet recorded in Postgres, 0 if there is none.",
		nil,
		func() float64 { return meter.Backlog().Age.Round(time.Millisecond).Seconds() },
	)
	const recorded, help = "petstore_usage_recorded_requests_total",
		"Requests that this server recorded in Postgres, by result."
	v.counter(
		recorded,
		help,
		prometheus.Labels{"result": "admitted"},
		func() int64 { n, _ := meter.Progress.Recorded(); return n },
	)
	v.counter(
		recorded,
		help,
		prometheus.Labels{"result": "refused"},
		func() int64 { _, n := meter.Progress.Recorded(); return n },
	)
}
