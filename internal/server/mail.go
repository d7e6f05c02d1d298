package server

import (
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"petstore.example/internal/mail"
	"petstore.example/internal/server/config"
)

// newMailer returns what sends mails, nil if there is no relay or no key for their links.
func newMailer(
	cfg *config.Config, box mail.Outbox, server uuid.UUID, r prometheus.Registerer, log zerolog.Logger,
) *mail.Mailer {
	if cfg.Mail == nil || cfg.Sealer == nil {
		return nil
	}
	o := mail.Options{Outbox: box, Transport: cfg.Mail, Links: cfg.Links(), Server: server, Log: log}
	o.OnResult, o.OnBacklog = mailMetrics(r)
	return mail.NewMailer(o)
}

// mailMetrics registers the metrics of mail, and returns what counts in them.
func mailMetrics(r prometheus.Registerer) (func(mail.Result), func(mail.Backlog)) {
	attempt := attempts(r, "petstore_mail_attempts_total", "Attempts to send a mail, by result.",
		mail.Sent, mail.Refused, mail.Failed, mail.Later, mail.RelayDown)
	var backlog atomic.Pointer[mail.Backlog]
	backlog.Store(&mail.Backlog{})
	v := values{r}
	v.gauge("petstore_mail_waiting", "Mails that wait.", nil,
		func() float64 { return float64(backlog.Load().Waiting) })
	v.gauge("petstore_mail_oldest_seconds", "The age of the oldest mail that no relay has taken or put off.", nil,
		func() float64 { return backlog.Load().Oldest.Seconds() })
	return func(r mail.Result) { attempt(r.Outcome) }, func(b mail.Backlog) { backlog.Store(&b) }
}
