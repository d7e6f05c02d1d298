package webhooks_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/webhooks"
)

// TestStrangeAnswers: an answer of any bytes is stored. If one result can't be, none of its
// statement is, and each of the others alone is.
func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	odd, good := b.enabled(t, "*"), b.enabled(t, "*")
	b.fill(t, odd, 1, "key.issued")
	b.fill(t, good, 1, "key.issued")
	answer := append([]byte("\x00\xff"), bytes.Repeat([]byte{0xC3}, 254)...)
	batches := b.claim(t)
	list := results(batches, func(r *webhooks.Result) {
		r.Answer = answer
		if r.EndpointID == odd.ID {
			failed(r)
			r.Said = "\x00"
		}
	})
	err := b.API.Outbox.Finish(t.Context(), holder, list)
	assert.True(t, err != nil && store.IsServerError(err), "a NUL in our own words:", err)
	b.Want(t, "0", `select count(*)::text from attempts`)
	for _, r := range list {
		if err := b.API.Outbox.Finish(
			t.Context(),
			holder,
			[]webhooks.Result{r},
		); (err != nil) != (r.EndpointID == odd.ID) {
			t.Errorf("endpoint %d alone: %v", r.EndpointID, err)
		}
	}
	b.Want(t, "delivered", `select result from deliveries where endpoint_id = $1`, good.ID)
	sent, err := b.API.Endpoints.Deliveries(t.Context(), b.boss, good.ID, 0, 10)
	assert.NoError(t, err)
	if a := sent[0].Attempts[0]; !bytes.Equal(a.Answer, answer) || a.Status != 204 || a.Took != 7*time.Millisecond {
		t.Errorf("attempt %+v", a)
	}
}

// TestSchedule: the attempts of an event follow each other as docs/webhooks.md says. After the
// tenth it has failed. Retry-After only lengthens the wait, to a day.
func TestSchedule(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.enabled(t, "*")
	b.fill(t, e, 1, "key.issued")
	wait := func(want time.Duration) {
		t.Helper()
		var seconds float64
		assert.NoError(
			t,
			b.Owner.Get(&seconds, `select extract(epoch from due_at - now()) from deliveries where done_at is null`),
		)
		if got := time.Duration(seconds * float64(time.Second)); got < want-5*time.Second || got > want+want/10 {
			t.Errorf("due in %s, want %s", got, want)
		}
		b.Exec(t, `update deliveries set due_at = now() where done_at is null`)
	}
	for i, want := range []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
		14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	} {
		b.finish(t, b.claim(t), failed)
		b.Want(t, fmt.Sprint(i+1), `select attempts::text from deliveries`)
		wait(want)
	}
	b.finish(t, b.claim(t), failed)
	b.Want(t, "failed 10", `select result || ' ' || attempts from deliveries`)
	b.Want(t, "10", `select count(*)::text from attempts`)

	for after, want := range map[time.Duration]time.Duration{
		time.Second: 5 * time.Second, time.Hour: time.Hour, 90 * time.Hour: 24 * time.Hour,
	} {
		b.Exec(t, `delete from events`)
		b.fill(t, e, 1, "key.issued")
		b.finish(t, b.claim(t), func(r *webhooks.Result) { failed(r); r.RetryAfter = after })
		wait(want)
		// What was given back is no attempt.
		b.finish(t, b.claim(t), func(r *webhooks.Result) { r.Outcome, r.RetryAfter = webhooks.Returned, after })
		b.Want(t, "1", `select attempts::text from deliveries`)
		wait(after)
	}
}

// TestEndpointsThatFail: an endpoint is disabled by 410, and by a failure five days after the first
// of an unbroken row. A success ends the row. A ping enables it, and is tried once.
func TestEndpointsThatFail(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.endpoint(t, b.boss, "*")
	state := func() string {
		return b.Text(t, `
			select status || ' ' || coalesce(disabled_reason, '') || (failing_since is not null)::text from endpoints`)
	}
	ping := func(change func(*webhooks.Result)) {
		t.Helper()
		assert.NoError(t, fixture.ErrorOf(b.API.Endpoints.Test(t.Context(), b.boss, e.ID)))
		b.finish(t, b.claim(t), change)
		b.Want(t, "0", `select count(*)::text from deliveries where done_at is null`)
	}
	event := func(change func(*webhooks.Result)) {
		t.Helper()
		b.fill(t, e, 1, "key.issued")
		b.finish(t, b.claim(t), change)
	}
	b.fill(t, e, 3, "key.issued")
	assert.Equal(t, len(b.claim(t)), 0, "batches for a pending endpoint")
	b.Exec(t, `delete from events`)
	ping(failed)
	assert.Equal(t, state(), "pending true")
	ping(delivered)
	assert.Equal(t, state(), "enabled false")
	event(failed)
	since := b.Text(t, `select failing_since::text from endpoints`)
	event(failed)
	b.Want(t, since, `select failing_since::text from endpoints`)
	b.Exec(t, `update endpoints set failing_since = now() - interval '5 days 1 second'`)
	event(delivered)
	assert.Equal(t, state(), "enabled false")
	b.Exec(t, `update endpoints set failing_since = now() - interval '4 days 23 hours 59 minutes'`)
	event(failed)
	assert.Equal(t, state(), "enabled true")
	b.Exec(t, `update endpoints set failing_since = now() - interval '5 days'`)
	event(failed)
	assert.Equal(t, state(), "disabled failurestrue")
	assert.Equal(t, len(b.claim(t)), 0, "batches for a disabled endpoint")

	_, err := b.API.Endpoints.Update(t.Context(), b.boss, e.ID, 0, webhooks.EndpointPatch{Enabled: new(true)})
	assert.NoError(t, err)
	assert.Equal(t, state(), "enabled false")
	assert.Equal(t, len(b.claim(t)), 0, "batches of what waited when it was disabled")
	event(func(r *webhooks.Result) { r.Outcome, r.Status = webhooks.Gone, 410 })
	assert.Equal(t, state(), "disabled gonetrue")
	backlog, err := b.API.Outbox.Report(t.Context(), holder, k1, nil)
	assert.NoError(t, err)
	assert.Equal(t, backlog, webhooks.Backlog{Disabled: 1})
}

// TestResultsWaitForNobody: the results of all are stored while somebody changes an endpoint, whose
// own state its next result decides.
func TestResultsWaitForNobody(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.fill(t, b.enabled(t, "*"), 2, "key.issued")
	batches := b.claim(t)
	tx := b.Owner.MustBegin()
	tx.MustExec(`update endpoints set description = 'x'`)
	b.finish(t, batches, failed)
	assert.NoError(t, tx.Commit())
	b.Want(t, "2", `select count(*)::text from attempts`)
	b.Exec(t, `update deliveries set due_at = now()`)
	b.finish(t, b.claim(t), failed)
	b.Want(t, "true", `select (failing_since is not null)::text from endpoints`)
}

// TestBacklog: what waits is counted, and only what should be delivered by now is late.
func TestBacklog(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.enabled(t, "*")
	b.fill(t, e, 3, "key.issued")
	b.Exec(t, `update deliveries set due_at = now() - interval '10 minutes' where id % 3 = 0`)
	report := func(keys []string) webhooks.Backlog {
		t.Helper()
		r, err := b.API.Outbox.Report(t.Context(), holder, keys, nil)
		assert.NoError(t, err)
		return r
	}
	r := report(k1)
	if r.Oldest < 10*time.Minute || r.Oldest > 11*time.Minute {
		t.Errorf("the oldest waits for %s", r.Oldest)
	}
	assert.Equal(t, r.Waiting, 3, "waiting")
	assert.Equal(t, report([]string{"k2"}).Oldest, 0, "for a server that can't open the secret")
	b.Exec(t, `update endpoints set failing_since = now()`)
	assert.Equal(t, report(k1), webhooks.Backlog{Endpoints: 1, Waiting: 3})
}

// TestPrune: attempts are kept for 7 days, events with their deliveries for 30. Of a backlog that is
// too long the oldest events of animals and orders are dropped, never the others, and one event says
// how many. What waits for a disabled endpoint is ended.
func TestPrune(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.enabled(t, "pet.created", "key.issued")
	b.fill(t, e, 3, "key.issued")
	b.deliver(t)
	b.Exec(t, `update attempts set at = now() - interval '7 days 1 second' where delivery_id % 3 = 0`)
	b.Exec(
		t,
		`update events set created_at = now() - interval '30 days 1 second'
		where id = (select event_id from deliveries order by id limit 1)`,
	)
	prune := func() { assert.NoError(t, b.API.Outbox.Prune(t.Context())) }
	prune()
	b.Want(t, "2 2 1", `
		select (select count(*) from events) || ' ' || (select count(*) from deliveries) || ' ' || (
		  select count(*) from attempts)`)

	b.fill(t, e, 10, "key.issued")
	b.fill(t, e, 1005, "pet.created")
	prune()
	b.Want(t, "1015", `select count(*)::text from deliveries where done_at is null`)
	b.Want(t, "false", `select prune_outbox(10000, 1000)::text`)
	b.Want(t, `{"count": 15} 1001 10`, `
		select (v.body::json ->> 'data') || ' ' || (select count(*) from deliveries where done_at is null) || ' ' || (
		  select count(*) from deliveries d join events k on k.id = d.event_id
		  where d.done_at is null and k.type = 'key.issued')
		from events v where v.type = 'events.dropped'`)
	b.Want(t, "true", `
		select (max(id) filter (where result = 'dropped') < min(id) filter (
		  where done_at is null and rank = 1 and event_id in (
		  select id from events where type = 'pet.created')))::text from deliveries`)
	b.Exec(t, `update endpoints set disabled_reason = 'customer'`)
	prune()
	b.Want(t, "0", `select count(*)::text from deliveries where done_at is null`)
	b.Want(t, "1", `select count(*)::text from events where type = 'events.dropped'`)
}

// TestReplayOfWhatWaits: a replay sends at once what waits for a later attempt, behind what is new
// and in its order, but nothing that may be under way, or that a restore holds.
func TestReplayOfWhatWaits(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.enabled(t, "*")
	for _, kind := range []string{"key.issued", "key.banned", "key.revoked", "key.rotated", "plan.changed"} {
		b.fill(t, e, 1, kind)
	}
	b.Exec(t, `
		update deliveries d set attempts = 6, due_at = case v.type when 'key.issued' then now() + interval '20 s'
		  when 'key.banned' then 'infinity' when 'plan.changed' then now() + interval '1 h'
		  else now() + interval '9 h' end
		from events v where v.id = d.event_id`)
	b.Exec(t, `update events set created_at = now() - interval '2 h' where type = 'key.revoked'`)
	replay := func(since time.Duration, types ...string) int64 {
		t.Helper()
		n, err := b.API.Endpoints.Replay(t.Context(), b.boss, e.ID,
			webhooks.Replay{Since: time.Now().Add(-since), Types: types})
		assert.NoError(t, err)
		return n
	}
	assert.Equal(t, replay(time.Hour, "key.revoked"), 0)
	assert.Equal(t, replay(time.Hour), 2)
	b.fill(t, e, 1, "key.expiring")
	assert.DeepEqual(t, b.deliver(t), []string{"key.expiring", "key.rotated", "plan.changed"})
	assert.Equal(t, replay(3*time.Hour), 1)
	assert.DeepEqual(t, b.deliver(t), []string{"key.revoked"})
	assert.Equal(t, replay(3*time.Hour), 0)
	b.Want(t, "7", `select max(attempts)::text from deliveries`)
}

// TestNoNextAttempt: what an endpoint is not sent has no next attempt: while it is disabled nothing,
// while it is pending all but a ping.
func TestNoNextAttempt(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.enabled(t, "*")
	b.fill(t, e, 1, "key.issued")
	_, err := b.API.Endpoints.Test(t.Context(), b.boss, e.ID)
	assert.NoError(t, err)
	for change, want := range map[string][]bool{
		`verified_at = now(), disabled_reason = null`:   {true, true},
		`verified_at = null, disabled_reason = null`:    {true, false},
		`verified_at = now(), disabled_reason = 'gone'`: {false, false},
	} {
		b.Exec(t, `update endpoints set `+change)
		sent, err := b.API.Endpoints.Deliveries(t.Context(), b.boss, e.ID, 0, 10)
		assert.NoError(t, err)
		assert.DeepEqual(t, []bool{!sent[0].DueAt.IsZero(), !sent[1].DueAt.IsZero()}, want, change)
		assert.Equal(t, sent[1].Status, "waiting", change)
	}
}
