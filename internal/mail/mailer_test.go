package mail_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"petstore.example/internal/keys"
	"petstore.example/internal/mail"
	"petstore.example/internal/test/assert"
)

// outbox is an outbox and a relay in memory.
type outbox struct {
	mu      sync.Mutex
	due     []mail.Notice
	down    bool
	asked   []int // how many mails each claim asked for
	sent    []mail.Message
	results map[mail.Outcome]int
	digest  keys.Digest
	relay   func() string // of the Mailer
	lost    int           // results that can't be stored
}

func (o *outbox) Claim(_ context.Context, most int) ([]mail.Notice, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, most)
	list := o.due[:min(most, len(o.due))]
	o.due = o.due[len(list):]
	return list, nil
}

func (o *outbox) Invite(_ context.Context, _ uuid.UUID, d keys.Digest) (time.Time, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.digest = d
	return time.Now().Add(15 * time.Minute), nil
}

func (o *outbox) Finish(_ context.Context, id uuid.UUID, r mail.Result) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost > 0 {
		o.lost--
		return errors.New("no database")
	}
	o.results[r.Outcome]++
	if r.Outcome == mail.RelayDown {
		o.due = append(o.due, mail.Notice{ID: id, Kind: mail.Limit, Address: "ops@acme.example"})
	}
	return nil
}

func (o *outbox) Send(_ context.Context, m mail.Message) mail.Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		return mail.Result{Outcome: mail.RelayDown, Said: "the relay refuses the login: 535"}
	}
	o.sent = append(o.sent, m)
	return mail.Result{Outcome: mail.Sent}
}

// mailing runs a Mailer with fake time, and calls check with what waits for a time. check holds o's
// lock, and gives it up while it waits.
func mailing(t *testing.T, o *outbox, check func(pass func(time.Duration))) {
	t.Helper()
	o.results = map[mail.Outcome]int{}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		m := mail.NewMailer(mail.Options{
			Outbox: o, Transport: o, Links: mail.NewLinks("https://api.example.com/v1", [][]byte{[]byte("key")}),
			Addresses: func() int64 { return 1 }, OnResult: func(mail.Result) {}, Log: zerolog.Nop(),
		})
		o.relay = m.Relay
		go func() {
			m.Run(ctx)
			close(done)
		}()
		o.mu.Lock()
		check(func(d time.Duration) {
			o.mu.Unlock()
			time.Sleep(d)
			synctest.Wait()
			o.mu.Lock()
		})
		o.mu.Unlock()
		stop()
		<-done
	})
}

func notices(kind string, n int) (list []mail.Notice) {
	for range n {
		list = append(list, mail.Notice{ID: uuid.New(), Kind: kind, Tenant: "acme", Address: "ops@acme.example"})
	}
	return list
}

// TestAllMailWaitsForTheRelay: while the relay fails one mail at a time tries it, now and then, and
// the database knows why. When it works again all is sent.
func TestAllMailWaitsForTheRelay(t *testing.T) {
	t.Parallel()
	o := &outbox{due: notices(mail.Limit, 9), down: true}
	mailing(t, o, func(pass func(time.Duration)) {
		pass(time.Hour)
		assert.Equal(t, o.relay(), "the relay refuses the login: 535")
		tries := o.results[mail.RelayDown]
		assert.True(t, tries >= 100 && tries <= 125, tries, "attempts in an hour")
		assert.Equal(t, o.asked[len(o.asked)-1], 1, "mails at a time")
		o.down = false
		pass(time.Minute)
		assert.Equal(t, len(o.sent), 9, "mails that were sent")
		assert.Equal(t, o.relay(), "")
	})
}

// TestInvitationsAreMadeWhenTheyAreSent: the link of the mail is the one whose digest is stored. A
// result that can't be stored is tried again.
func TestInvitationsAreMadeWhenTheyAreSent(t *testing.T) {
	t.Parallel()
	o := &outbox{due: append(notices(mail.Invite, 1), notices("pet.created", 1)...), lost: 3}
	mailing(t, o, func(pass func(time.Duration)) {
		pass(time.Minute)
		assert.Equal(t, len(o.sent), 1, "mails")
		_, rest, _ := strings.Cut(o.sent[0].Text, "/account/invitation#")
		assert.Equal(t, keys.DigestOf(strings.Fields(rest)[0]), o.digest)
		assert.Equal(t, o.results[mail.Failed], 1, "mails that can't be made")
	})
}
