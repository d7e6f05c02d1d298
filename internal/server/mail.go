package server

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"petstore.example/internal/mail"
	"petstore.example/internal/server/config"
	"petstore.example/internal/webhooks"
)

// newMailer returns what sends mails, nil if there is no relay or no key for their links.
func newMailer(
	cfg *config.Config, box mail.Outbox, backlog func() *webhooks.Backlog, r prometheus.Registerer, log zerolog.Logger,
) *mail.Mailer {
	if cfg.Mail == nil || cfg.Sealer == nil {
		return nil
	}
	attempt := attempts(r, "petstore_mail_attempts_total", "Attempts to send a mail, by result.",
		mail.Sent, mail.Refused, mail.Failed, mail.Later, mail.RelayDown)
	v := values{r}
	v.gauge("petstore_mail_waiting", "Mails that wait.", nil, func() float64 { return float64(backlog().Mails) })
	v.gauge("petstore_mail_oldest_seconds", "The age of the oldest mail that no relay has taken or put off.", nil,
		func() float64 { return backlog().OldestMail.Seconds() })
	return mail.NewMailer(mail.Options{
		Outbox:    box,
		Transport: cfg.Mail,
		Links:     cfg.Links(),
		Addresses: func() int64 { return backlog().Addresses },
		OnResult:  func(r mail.Result) { attempt(r.Outcome) },
		Log:       log,
	})
}
