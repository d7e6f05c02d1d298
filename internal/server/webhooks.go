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
	o.OnResult, o.OnBacklog = webhookMetrics(m)
	if cfg.Sealer != nil {
		o.Sender = webhooks.NewSender(cfg.WebhookRules, cfg.Sealer, strings.TrimSuffix(cfg.BaseURL, "/v1"), clock.Now)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	d := webhooks.NewDeliverer(o)
	running.Go(func() { _ = d.Run(ctx) })
	if mailer := newMailer(cfg, db.Mail, d.Holder(), m, log); mailer != nil {
		running.Go(func() { mailer.Run(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
		logError(log, "close the outbox", db.Close)
	}, nil
}

// webhookMetrics registers the metrics of webhooks, and returns what counts in them.
func webhookMetrics(r prometheus.Registerer) (func(webhooks.Result), func(webhooks.Backlog)) {
	attempts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "petstore_webhook_attempts_total",
		Help: "Attempts to deliver an event, by result.",
	}, []string{"result"})
	for _, outcome := range []webhooks.Outcome{webhooks.Delivered, webhooks.Failed, webhooks.Gone} {
		attempts.WithLabelValues(string(outcome)) // so that the first one is counted as an increase
	}
	r.MustRegister(attempts)
	var backlog atomic.Pointer[webhooks.Backlog]
	backlog.Store(&webhooks.Backlog{})
	for _, g := range []struct {
		name, help string
		value      func(*webhooks.Backlog) float64
	}{
		{"petstore_webhook_waiting", "Deliveries that are due.",
			func(b *webhooks.Backlog) float64 { return float64(b.Waiting) }},
		{"petstore_webhook_oldest_seconds", "For how long a delivery to an endpoint that answers has been due at most.",
			func(b *webhooks.Backlog) float64 { return b.Oldest.Seconds() }},
		{"petstore_webhook_held", "Deliveries that a restore holds until staff resume them.",
			func(b *webhooks.Backlog) float64 { return float64(b.Held) }},
		{"petstore_webhook_endpoints_disabled", "Endpoints that failures have disabled.",
			func(b *webhooks.Backlog) float64 { return float64(b.Disabled) }},
	} {
		values{r}.gauge(g.name, g.help, nil, func() float64 { return g.value(backlog.Load()) })
	}
	return func(r webhooks.Result) { attempts.WithLabelValues(string(r.Outcome)).Inc() },
		func(b webhooks.Backlog) { backlog.Store(&b) }
}
