package server

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"petstore.example/internal/server/config"
	"petstore.example/internal/store"
	"petstore.example/internal/storeclock"
	"petstore.example/internal/webhooks"
)

const (
	// webhookConns is the size of a connection pool that only webhooks and mails use: one claims while another
	// stores results. webhookTimeout bounds each call, of which those that remove old rows are the
	// longest.
	webhookConns   = 2
	webhookTimeout = 10 * time.Second
)

// startWebhooks sends webhooks and mails until ctx ends or stop is called, which waits until what was sent is
// stored.
func startWebhooks(
	ctx context.Context, cfg *config.Config, m *registry, clock *storeclock.Clock, log zerolog.Logger,
) (stop func(), err error) {
	db, err := m.open(
		ctx,
		string(cfg.DatabaseURL),
		webhooksPool,
		patiently(log, store.Options{AsAPI: true, MaxConns: webhookConns, Timeout: webhookTimeout}),
	)
	if err != nil {
		return nil, err
	}
	o := webhooks.Options{
		Outbox:  db.Outbox,
		Sealer:  cfg.Sealer,
		Refused: func(err error) bool { return store.IsServerError(err) && !errors.Is(err, store.ErrUnavailable) },
		Log:     log,
	}
	var backlog atomic.Pointer[webhooks.Backlog]
	backlog.Store(&webhooks.Backlog{})
	o.OnResult, o.OnBacklog = webhookMetrics(m, backlog.Load), func(b webhooks.Backlog) { backlog.Store(&b) }
	if cfg.Sealer != nil {
		o.Sender = webhooks.NewSender(cfg.WebhookRules, cfg.Sealer, strings.TrimSuffix(cfg.BaseURL, "/v1"), clock.Now)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	if mailer := newMailer(cfg, db.Mail, backlog.Load, m, log); mailer != nil {
		o.Relay = mailer.Relay
		running.Go(func() { mailer.Run(ctx) })
	}
	running.Go(func() { _ = webhooks.NewDeliverer(o).Run(ctx) })
	return func() {
		cancel()
		running.Wait()
		logError(log, "close the outbox", db.Close)
	}, nil
}

// webhookMetrics registers the metrics of webhooks, and returns what counts results.
func webhookMetrics(r prometheus.Registerer, backlog func() *webhooks.Backlog) func(webhooks.Result) {
	v := values{r}
	v.gauge("petstore_webhook_waiting", "Deliveries that are due.", nil,
		func() float64 { return float64(backlog().Waiting) })
	v.gauge("petstore_webhook_oldest_seconds",
		"For how long a delivery to an endpoint that answers has been due at most.", nil,
		func() float64 { return backlog().Oldest.Seconds() })
	v.gauge("petstore_webhook_held", "Deliveries that a restore holds until staff resume them.", nil,
		func() float64 { return float64(backlog().Held) })
	v.gauge("petstore_webhook_endpoints_disabled", "Endpoints that failures have disabled.", nil,
		func() float64 { return float64(backlog().Disabled) })
	attempt := attempts(r, "petstore_webhook_attempts_total", "Attempts to deliver an event, by result.",
		webhooks.Delivered, webhooks.Failed, webhooks.Gone)
	return func(r webhooks.Result) { attempt(r.Outcome) }
}

// attempts registers a counter of attempts by result, and returns what counts in it. Each result
// begins with 0, so that the first one is counted as an increase.
func attempts[Outcome ~string](r prometheus.Registerer, name, help string, results ...Outcome) func(Outcome) {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"result"})
	for _, result := range results {
		counter.WithLabelValues(string(result))
	}
	r.MustRegister(counter)
	return func(result Outcome) { counter.WithLabelValues(string(result)).Inc() }
}
