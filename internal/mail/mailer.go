package mail

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"petstore.example/internal/keys"
)

const (
	// workers is how many mails a server sends at a time.
	workers = 4

	pollEvery = time.Second
	// relayEvery is how often a relay that fails is tried again, with one mail.
	relayEvery = 30 * time.Second
	// retryEvery is how often an outbox that can't be reached is tried again, finishTime how long.
	retryEvery = time.Second
	finishTime = time.Minute
	// stopTime is how long a mail may go on after the Mailer was stopped.
	stopTime = 5 * time.Second
)

// Outbox is what a Mailer needs of the database.
type Outbox interface {
	// Claim leases up to most mails for 5 minutes, one of a tenant.
	Claim(ctx context.Context, most int) ([]Notice, error)
	// Invite stores the digest of the token of an invitation that was claimed, in place of the one
	// before, and returns its end. It is zero if the invitation is not to be sent any more.
	Invite(ctx context.Context, id uuid.UUID, token keys.Digest) (ends time.Time, err error)
	// Finish stores what came of a mail.
	Finish(ctx context.Context, id uuid.UUID, r Result) error
}

// State is how mail works, for doctor.
type State struct {
	// Servers are those that are alive, Senders those of them that send mail.
	Servers, Senders int64
	// Relay is why a relay of them fails, "" if all work.
	Relay string
	// Confirmed are the addresses that take mail, Waiting the mails that wait, Late those that were
	// dropped within a week because they could not be sent for a day.
	Confirmed, Waiting, Late int64
}

// Options are the options of a Mailer.
type Options struct {
	Outbox    Outbox
	Transport Transport
	Links     *Links
	// Addresses is how many addresses there are. While it is 0 the outbox is left alone.
	Addresses func() int64
	// OnResult gets what is counted, from several goroutines.
	OnResult func(Result)
	Log      zerolog.Logger
}

// Mailer claims what is due, sends it and stores what came of it.
type Mailer struct {
	Options
	// down is why the relay fails, "" if it works.
	down atomic.Pointer[string]
}

// NewMailer returns a Mailer that does nothing before Run.
func NewMailer(o Options) *Mailer {
	m := &Mailer{Options: o}
	m.down.Store(new(string))
	return m
}

// Relay says why the relay fails, "" if it works.
func (m *Mailer) Relay() string { return *m.down.Load() }

// Run works until ctx ends. It then begins no mail, and waits a few seconds for those that it sends.
func (m *Mailer) Run(ctx context.Context) {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopTime, cancel) })()
	for wait := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = pollEvery
		if m.Addresses() > 0 && m.work(ctx, working) {
			wait = 0
		}
		if m.Relay() != "" {
			wait = relayEvery
		}
	}
}

// work sends some mails, and reports whether there may be more.
func (m *Mailer) work(ctx, working context.Context) bool {
	most := workers
	if m.Relay() != "" {
		most = 1
	}
	list, err := m.Outbox.Claim(ctx, most)
	if err != nil && ctx.Err() == nil {
		m.Log.Warn().Err(err).Msg("claim mails")
	}
	var sending sync.WaitGroup
	for _, n := range list {
		sending.Go(func() { m.finish(working, n, m.send(working, n)) })
	}
	sending.Wait()
	return len(list) > 0
}

// send makes a mail and sends it.
func (m *Mailer) send(ctx context.Context, n Notice) Result {
	if n.Kind == Invite {
		token, digest := keys.NewSecret()
		ends, err := m.Outbox.Invite(ctx, n.ID, digest)
		switch {
		case err != nil:
			return Result{Later, err.Error()}
		case ends.IsZero():
			return Result{Failed, "it is not to be sent any more"}
		}
		n.Token, n.Ends = token, ends
	}
	message, err := m.Links.Render(n)
	if err != nil {
		return Result{Failed, err.Error()}
	}
	r := m.Transport.Send(ctx, message)
	if r.Outcome != RelayDown {
		m.down.Store(new(string))
	} else if ctx.Err() == nil {
		m.down.Store(&r.Said)
		m.Log.Warn().Err(errors.New(r.Said)).Msg("the relay fails: all mail waits")
	}
	return r
}

// finish stores a result. What can't be stored is sent again.
func (m *Mailer) finish(ctx context.Context, n Notice, r Result) {
	m.OnResult(r)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	for {
		err := m.Outbox.Finish(ctx, n.ID, r)
		if err == nil {
			return
		}
		m.Log.Warn().Err(err).Msg("store the result of a mail")
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryEvery):
		}
	}
}
