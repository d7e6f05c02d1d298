package webhooks_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"petstore.example/internal/keys"
	"petstore.example/internal/mail"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/webhooks"
)

// post is a box whose tenant acme has an address.
type post struct{ box }

func newPost(t *testing.T) post {
	t.Helper()
	p := post{newBox(t)}
	p.address(t, "ops@acme.example")
	return p
}

// address sets the address of acme.
func (p post) address(t *testing.T, a string) {
	t.Helper()
	_, _, err := p.Tenants.Edit(t.Context(), fixture.Jo, "acme", tenancy.TenantEdit{Email: &a})
	assert.NoError(t, err)
}

func (p post) claimMails(t *testing.T, most int) []mail.Notice {
	t.Helper()
	list, err := p.API.Mail.Claim(t.Context(), most)
	assert.NoError(t, err)
	return list
}

func (p post) finishMail(t *testing.T, m mail.Notice, outcome mail.Outcome) {
	t.Helper()
	assert.NoError(t, p.API.Mail.Finish(t.Context(), m.ID, mail.Result{Outcome: outcome, Said: "said of " + m.Address}))
}

// mailed sends all that is due with one outcome, and returns its kinds.
func (p post) mailed(t *testing.T, outcome mail.Outcome) string {
	t.Helper()
	var kinds []string
	for list := p.claimMails(t, 4); len(list) > 0; list = p.claimMails(t, 4) {
		for _, m := range list {
			kinds = append(kinds, m.Kind)
			p.finishMail(t, m, outcome)
		}
	}
	return strings.Join(kinds, " ")
}

// answer answers as the owner of an address of acme does.
func (p post) answer(t *testing.T, address string, link mail.LinkKind) bool {
	t.Helper()
	of := sha256.Sum256([]byte(address))
	known, err := p.API.Mail.Answer(t.Context(), link, p.acme.ID, of[:])
	assert.NoError(t, err)
	return known
}

// confirmed is a newPost whose address is confirmed.
func confirmed(t *testing.T) post {
	t.Helper()
	p := newPost(t)
	assert.Equal(t, p.mailed(t, mail.Sent), "confirm")
	assert.True(t, p.answer(t, "ops@acme.example", mail.ToConfirm), "confirmed")
	return p
}

func (p post) state(t *testing.T) string {
	t.Helper()
	return p.Text(t, `select coalesce((select state from mailboxes), 'none')`)
}

// ban makes events that are mailed, of keys of their own.
func (p post) ban(t *testing.T, n int) {
	t.Helper()
	for range n {
		k, _ := p.Issue(t, "acme")
		p.Exec(t, `
			insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at)
			values ($1, $2, 'staff', 'x', now(), now() + interval '1 day')`, p.acme.ID, k.ID)
	}
}

// notify makes events that are mailed, each of its own.
func (p post) notify(t *testing.T, n int) {
	t.Helper()
	for range n {
		p.Exec(t, `select emit($1, 'live', 'plan.changing', '{}')`, p.acme.ID)
	}
}

// TestAddresses: an address is asked when it is set, and told of nothing before it has confirmed.
// Another one begins anew. Only the present one can answer.
func TestAddresses(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	assert.Equal(t, p.state(t), "waiting")
	p.notify(t, 1)
	assert.Equal(t, p.mailed(t, mail.Sent), "confirm", "before it has confirmed")
	assert.True(t, !p.answer(t, "x@acme.example", mail.ToConfirm), "another address is confirmed")
	assert.True(t, p.answer(t, "ops@acme.example", mail.ToConfirm), "the address isn't known")
	assert.True(t, p.answer(t, "ops@acme.example", mail.ToConfirm), "again")
	p.notify(t, 1)
	assert.Equal(t, p.mailed(t, mail.Sent), "plan.changing")
	p.Want(t, "0", `select count(*)::text from deliveries`)
	assert.True(t, p.answer(t, "ops@acme.example", mail.ToUnsubscribe), "unsubscribed")
	p.notify(t, 1)
	assert.Equal(t, p.mailed(t, mail.Sent), "", "to one that has unsubscribed")
	p.Want(t, "tenant.confirm tenant.unsubscribe", `
		select string_agg(action, ' ' order by number) from audit_entries where claimed_actor = 'mail'`)

	assert.True(t, p.answer(t, "ops@acme.example", mail.ToConfirm), "confirmed again")
	p.notify(t, 1)
	p.address(t, "new@acme.example")
	assert.Equal(t, p.state(t), "waiting", "another address")
	assert.True(t, !p.answer(t, "ops@acme.example", mail.ToConfirm), "a former address is confirmed")
	list := p.claimMails(t, 4)
	assert.Equal(t, fmt.Sprint(len(list), list[0].Kind, list[0].Address), "1confirmnew@acme.example")
	p.Want(t, "0", `select count(*)::text from mails where said ~ 'ops@'`)
	p.address(t, "")
	assert.Equal(t, p.state(t), "none")
	p.finishMail(t, list[0], mail.Refused)
	p.Want(t, "dropped", `select result from mails where id = $1`, list[0].ID)
}

// TestAddressesThatStand: those from before there was mail are asked only if support wants it, and
// no address more than three times in 30 days.
func TestAddressesThatStand(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	p.Exec(t, `delete from mails; delete from mailboxes`)
	assert.Equal(t, p.mailed(t, mail.Sent), "", "an address from before")
	ask := func() string {
		_, asked, err := p.Tenants.Ask(t.Context(), fixture.Jo, "acme")
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(asked)
	}
	for range 3 {
		assert.Equal(t, ask(), "true")
		assert.Equal(t, ask(), "false", "while it waits")
		assert.Equal(t, p.mailed(t, mail.Sent), "confirm")
	}
	assert.True(t, strings.Contains(ask(), plans.ErrEmailAsked.Error()), "a fourth time")
	p.Exec(t, `update mails set created_at = now() - interval '31 days'`)
	assert.Equal(t, ask(), "true", "30 days later")
	assert.Equal(t, p.mailed(t, mail.Refused), "confirm")
	assert.Equal(t, p.state(t), "refused")
	assert.True(t, p.answer(t, "ops@acme.example", mail.ToConfirm), "confirmed")
	assert.True(t, strings.Contains(ask(), plans.ErrEmailConfirmed.Error()), "one that has confirmed")
	p.address(t, "")
	assert.True(t, strings.Contains(ask(), plans.ErrNoEmail.Error()), "without an address")
}

// TestMailsOfADay: of bans one mail an hour is sent, and 20 about events in a day, then one that says
// so. What is not sent is kept as dropped.
func TestMailsOfADay(t *testing.T) {
	t.Parallel()
	p := confirmed(t)
	p.ban(t, 3)
	assert.Equal(t, p.mailed(t, mail.Sent), "key.banned")
	p.Exec(t, `update mails set created_at = now() - interval '61 minutes' where kind = 'key.banned'`)
	p.ban(t, 1)
	assert.Equal(t, p.mailed(t, mail.Sent), "key.banned", "an hour later")
	p.notify(t, 21)
	assert.Equal(t, p.mailed(t, mail.Sent), strings.Repeat("plan.changing ", 18)+"limit")
	p.Want(t, "one ban in an hour 2, more than 20 in a day 2", `
		select string_agg(said || ' ' || n, ', ' order by said desc)
		from (select said, count(*) as n from mails where result = 'dropped' group by said) s`)
	p.Exec(t, `update mails set done_at = now() - interval '1 day' where done_at is not null`)
	p.notify(t, 1)
	assert.Equal(t, p.mailed(t, mail.Sent), "plan.changing", "the day after")
}

// TestMailsThatFail: the relay's failure counts no attempt, a later one waits, a refusal marks the
// address. After a day a mail is dropped, also without a server that sends any.
func TestMailsThatFail(t *testing.T) {
	t.Parallel()
	p := confirmed(t)
	p.notify(t, 1)
	for range 30 {
		list := p.claimMails(t, 4)
		assert.Equal(t, len(list), 1, "mails after the relay has failed")
		assert.Equal(t, len(p.claimMails(t, 4)), 0, "mails while it is sent")
		p.finishMail(t, list[0], mail.RelayDown)
	}
	p.Want(t, "0", `select sum(attempts)::text from mails where kind = 'plan.changing'`)
	p.finishMail(t, p.claimMails(t, 4)[0], mail.Later)
	p.Want(t, "1 true", `
		select attempts || ' ' || (due_at between now() + interval '4 minutes' and now() + interval '5 minutes')
		from mails where done_at is null`)
	p.Exec(t, `update mails set due_at = now() where done_at is null`)
	p.finishMail(t, p.claimMails(t, 4)[0], mail.Failed)
	p.notify(t, 1)
	p.Exec(t, `update mails set created_at = now() - interval '25 hours' where done_at is null`)
	assert.NoError(t, p.API.Outbox.Tell(t.Context()))
	p.Want(t, "confirm sent, plan.changing failed, plan.changing dropped: over a day late", `
		select string_agg(kind || ' ' || result || case when result = 'dropped' then ': ' || said else '' end, ', '
		  order by done_at) from mails`)
	assert.Equal(t, p.state(t), "confirmed")
	p.notify(t, 2)
	p.finishMail(t, p.claimMails(t, 4)[0], mail.Refused)
	assert.Equal(t, p.state(t), "refused")
	assert.Equal(t, p.mailed(t, mail.Sent), "", "to an address that refuses")
}

// TestTwoServersNeverSendAMailTwice: servers that claim at once get each mail once, one of a tenant
// at a time.
func TestTwoServersNeverSendAMailTwice(t *testing.T) {
	t.Parallel()
	p := confirmed(t)
	for i := range 6 {
		p.Exec(
			t,
			`insert into tenants (name, email, created_at) values ($1, 'x@example.com', now())`,
			fmt.Sprint("t", i),
		)
	}
	p.notify(t, 20)
	var (
		mu   sync.Mutex
		sent = map[uuid.UUID]int{}
		busy = map[int64]int{}
		done sync.WaitGroup
	)
	for range 2 {
		server := p
		server.API = storetest.Open(t, p.APIURL, store.Options{AsAPI: true, Timeout: fixture.LongTimeout})
		done.Go(func() {
			for range 200 {
				list := server.claimMails(t, 2)
				for _, m := range list {
					mu.Lock()
					sent[m.ID]++
					busy[m.TenantID]++
					assert.Equal(t, busy[m.TenantID], 1, "mails of a tenant in flight")
					mu.Unlock()
				}
				for _, m := range list {
					mu.Lock()
					busy[m.TenantID]--
					mu.Unlock()
					server.finishMail(t, m, mail.Sent)
				}
			}
		})
	}
	done.Wait()
	assert.Equal(t, len(sent), 26, "mails")
	for id, n := range sent {
		assert.Equal(t, n, 1, "times mail", id)
	}
}

// TestEndpointsThatDieAreMailed: after 24 hours of nothing but failures the owner is told, and when
// that disables the endpoint, once each, by mail and to the other endpoints.
func TestEndpointsThatDieAreMailed(t *testing.T) {
	t.Parallel()
	p := confirmed(t)
	dead, other := p.enabled(t, "*"), p.enabled(t, "endpoint.failing", "endpoint.disabled")
	fail := func(since string) {
		t.Helper()
		p.fill(t, dead, 1, "key.issued")
		p.Exec(t, `update endpoints set failing_since = now() - $2::interval where id = $1`, dead.ID, since)
		p.finish(t, p.claim(t), failed)
		p.Exec(t, `update deliveries set done_at = now(), result = 'failed' where endpoint_id = $1 and done_at is null`,
			dead.ID)
	}
	tell := func() string {
		t.Helper()
		assert.NoError(t, p.API.Outbox.Tell(t.Context()))
		assert.NoError(t, p.API.Outbox.Tell(t.Context()))
		p.Want(t, "0", `
			select count(*)::text from deliveries d join events v on v.id = d.event_id
			where v.type ~ '^endpoint' and d.endpoint_id <> $1`, other.ID)
		return p.mailed(t, mail.Sent)
	}
	fail("23 hours")
	assert.Equal(t, tell(), "", "after 23 hours")
	fail("24 hours")
	assert.Equal(t, tell(), "endpoint.failing")
	fail("25 hours") // an earlier beginning is another row
	assert.Equal(t, tell(), "endpoint.failing", "another row of failures")
	fail("5 days")
	assert.Equal(t, tell(), "endpoint.disabled")
	p.Want(t, fmt.Sprintf(`{"id": "%d", "host": "example.com", "disabledReason": "failures"}`, dead.ID), `
		select ((body::jsonb -> 'data') - 'failingSince' - 'environment')::text
		from events where type = 'endpoint.disabled'`)
	p.Want(t, "3", `select count(*)::text from deliveries where endpoint_id = $1`, other.ID)
}

// TestInvitationsByMail: the link is made when the mail is sent, lasts 15 minutes from then on, and
// voids that of an attempt before.
func TestInvitationsByMail(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	invite := func() error {
		return fixture.ErrorOf(p.SignIns.InviteByMail(t.Context(), fixture.Jo, "acme", keys.Live))
	}
	assert.ErrorIs(t, invite(), plans.ErrEmailUnconfirmed, "an address that is not confirmed")
	assert.True(t, p.answer(t, "ops@acme.example", mail.ToConfirm), "confirmed")
	assert.NoError(t, invite())
	p.Exec(t, `update mails set done_at = now(), result = 'sent' where kind = 'confirm'`)
	p.Exec(t, `update mails set created_at = now() - interval '5 hours'`)
	p.Want(t, "0", `select count(*)::text from invites`)
	link := func(m mail.Notice, n byte) bool {
		ends, err := p.API.Mail.Invite(t.Context(), m.ID, keys.Digest{n})
		assert.NoError(t, err)
		return time.Until(ends) > 14*time.Minute
	}
	for n, outcome := range []mail.Outcome{mail.RelayDown, mail.Sent} {
		m := p.claimMails(t, 4)[0]
		assert.True(t, link(m, byte(n)), "made")
		p.Want(t, "true", `
			select string_agg((get_byte(digest, 0) = $1 and invited_by <> session_user)::text, ' ') from invites`, n)
		p.finishMail(t, m, outcome)
		assert.True(t, n == 0 || !link(m, 3), "made for a mail that was sent")
	}
	p.Want(t, `{"mail": true}`, `select after::text from audit_entries where action = 'tenant.invite'`)
	assert.NoError(t, invite())
	p.Exec(t, `update tenants set suspended_at = now()`)
	assert.Equal(t, p.mailed(t, mail.Sent), "", "to a suspended tenant")
}

// TestOwnMailbox: who manages a tenant sees its address, and what was mailed, and no other tenant's.
func TestOwnMailbox(t *testing.T) {
	t.Parallel()
	p := confirmed(t)
	p.notify(t, 1)
	assert.Equal(t, p.mailed(t, mail.Sent), "plan.changing")
	m, err := p.API.Mail.Mailbox(t.Context(), p.boss.Digest, 5)
	assert.NoError(t, err)
	assert.Equal(t, m.Address+" "+m.State, "ops@acme.example confirmed")
	assert.True(t, len(m.Mails) == 1 && m.Mails[0].Type == "plan.changing" && m.Mails[0].Status == "sent", m.Mails)
	p.Tenant(t, "zoo", plans.Pro)
	m, err = p.API.Mail.Mailbox(t.Context(), p.manager(t, "zoo", keys.Live).Digest, 5)
	assert.True(t, err == nil && m.Address == "" && m.Mails == nil, m, err)
	_, token := p.Issue(t, "acme")
	_, err = p.API.Mail.Mailbox(t.Context(), token.Digest(), 5)
	assert.ErrorIs(t, err, keys.ErrRequesterScope)
}

// TestMailReport: servers and doctor see what waits and what a relay says.
func TestMailReport(t *testing.T) {
	t.Parallel()
	p := confirmed(t)
	p.notify(t, 2)
	p.Exec(t, `update mails set created_at = now() - interval '10 minutes', attempts = 1 where id = (
		select id from mails where done_at is null limit 1)`)
	assert.NoError(t, fixture.ErrorOf(p.API.Outbox.Report(t.Context(), holder, nil, nil)))
	state := func() mail.State {
		t.Helper()
		s, err := storetest.Open(t, p.SupportURL, store.Options{}).Mail.State(t.Context())
		assert.NoError(t, err)
		return s
	}
	assert.Equal(t, state(), mail.State{Servers: 1, Confirmed: 1, Waiting: 2})
	b, err := p.API.Outbox.Report(t.Context(), holder, nil, new("no route"))
	assert.True(t, err == nil && b.OldestMail < time.Minute, b.OldestMail, err)
	b.OldestMail = 0
	assert.Equal(t, b, webhooks.Backlog{Addresses: 1, Mails: 2})
	assert.Equal(t, state(), mail.State{Servers: 1, Senders: 1, Relay: "no route", Confirmed: 1, Waiting: 2})
}
