package billing_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
	"petstore.example/internal/usage/events"
)

// handOn is a database with usage, and billing's way to it.
type handOn struct {
	*store.DB

	owner *sqlx.DB
	query billing.EventQuery
}

// newHandOn has usage of one hour: of two tenants, one of them under two assignments and two keys.
func newHandOn(t *testing.T) *handOn {
	t.Helper()
	db := fixture.NewDatabase(t)
	h := &handOn{
		DB:    storetest.Open(t, db.BillingURL, store.Options{}),
		owner: sqlx.MustConnect("postgres", db.URL),
		query: billing.EventQuery{
			From:     fixture.November,
			To:       fixture.December,
			Receiver: "stripe",
			Format:   events.Stripe,
		},
	}
	t.Cleanup(func() { _ = h.owner.Close() })
	h.owner.MustExec(`
		select test_tenant(name, 'pro') from unnest('{acme,zoo}'::text[]) name;
		update tenants set billing_ref = 'cus_' || name;
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_000000000000000' || n, n / 2 + 1, 'live', sha256(n::text::bytea), '0001', now() from
			generate_series(0, 2) n;
		select test_usage(1, '2026-11-20 12:00Z', 'key_0000000000000000', 'pro', 10, 1);
		select test_usage(1, '2026-11-20 12:00Z', 'key_0000000000000001', 'pro', 100, 0);
		select test_usage(1, '2026-11-20 12:00Z', 'key_0000000000000001', 'free', 1000, 2);
		select test_usage(2, '2026-11-20 12:00Z', 'key_0000000000000002', 'pro', 7, 0)`)
	return h
}

// sink sends all events, unless err is set, but those of hours that are too old for it. While it
// writes it calls during.
type sink struct {
	since  time.Time
	got    []events.Event
	pages  int
	err    error
	during func()
}

func (s *sink) Write(page []events.Event) ([]events.Event, error) {
	if s.during != nil {
		s.during()
	}
	s.pages = max(s.pages, len(page))
	s.got = append(s.got, page...)
	return slices.DeleteFunc(slices.Clone(page), func(e events.Event) bool { return e.At.Before(s.since) }), nil
}

func (s *sink) Close() error { return s.err }

// counts are the events as texts without what does not change.
func (s *sink) counts() (list []string) {
	for _, e := range s.got {
		text := fmt.Sprintf(
			"%s %s %s %d %d #%d",
			e.BillingRef,
			e.Hour.Format("01-02T15"),
			e.Plan,
			e.Admitted,
			e.Refused,
			e.Correction,
		)
		if !e.At.Equal(e.Hour) {
			text += " at " + e.At.Format("01-02T15")
		}
		list = append(list, text)
	}
	return list
}

func (h *handOn) send(t *testing.T, q billing.EventQuery, s *sink) error {
	t.Helper()
	return h.Events.Send(t.Context(), audit.By{Actor: "bill"}, q, s)
}

func (h *handOn) wantSent(t *testing.T, q billing.EventQuery, want ...string) {
	t.Helper()
	var s sink
	err := h.send(t, q, &s)
	if diff := cmp.Diff(want, s.counts()); err != nil || diff != "" {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
}

func TestEventsAreSentOnce(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	all := []string{"cus_acme 11-20T12 pro 110 1 #0", "cus_acme 11-20T12 free 1000 2 #0", "cus_zoo 11-20T12 pro 7 0 #0"}
	unrecorded := h.query
	unrecorded.Receiver = ""
	h.wantSent(t, unrecorded, all...)
	h.wantSent(t, h.query, all...)
	h.wantSent(t, h.query)
	other := h.query
	other.Receiver, other.Format = "lago", events.Lago
	h.wantSent(t, other, all...)
	h.wantSent(t, unrecorded, all...)

	// What comes later is a correction: more of one, less of another, and a new hour. It comes
	// once.
	h.owner.MustExec(`
		select test_usage(1, '2026-11-20 12:00Z', 'key_0000000000000000', 'pro', 5, 0);
		update usage_hourly set admitted = admitted - 2 where tenant_id = 2;
		select test_usage(1, '2026-11-20 13:00Z', 'key_0000000000000000', 'pro', 1, 1)`)
	h.wantSent(
		t,
		h.query,
		"cus_acme 11-20T12 pro 5 0 #1",
		"cus_zoo 11-20T12 pro -2 0 #1",
		"cus_acme 11-20T13 pro 1 1 #0",
	)
	h.wantSent(t, h.query)
	h.owner.MustExec(`update usage_hourly set refused = 9 where tenant_id = 2`)
	h.wantSent(t, h.query, "cus_zoo 11-20T12 pro 0 9 #2")

	var differ int
	if err := h.owner.Get(&differ, `
		select count(*) from (
		  select tenant_id, hour, assignment, sum(admitted) as admitted, sum(refused) as refused from usage_hourly
		      group by 1, 2, 3
		) u full join (
		  select tenant_id, hour, assignment, sum(admitted) as admitted, sum(refused) as refused, count(distinct
		      event_id), count(*) as n
		  from sent_events where receiver = 'stripe' group by 1, 2, 3
		) s using (tenant_id, hour, assignment, admitted, refused)
		where u is null or s is null or s.count <> s.n`); err != nil || differ > 0 {
		t.Errorf("%d sums of sent events differ from what is recorded, %v", differ, err)
	}
}

// TestEventsAreWithinTheirAssignment: a receiver that counts from the second in which a subscription
// began counts its first hour.
func TestEventsAreWithinTheirAssignment(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	h.owner.MustExec(`
		select set_config('petstore.audited', 'on', false);
		insert into tenant_plans (tenant_id, plan, valid_from) values (1, 'business', '2026-11-20 12:20:33.5Z');
		select test_usage(1, '2026-11-20 12:00Z', 'key_0000000000000000', 'business', 5, 0);
		select test_usage(1, '2026-11-20 13:00Z', 'key_0000000000000000', 'business', 6, 0)`)
	var s sink
	err := h.send(t, h.query, &s)
	var got []string
	for _, e := range s.got {
		got = append(got, e.Plan+" "+e.Time().Format(time.TimeOnly))
	}
	want := []string{"pro 12:00:00", "free 12:00:00", "business 12:20:34", "pro 12:00:00", "business 13:00:00"}
	assert.Result(t, got, err, want, "times of events")
}

// TestCorrectionsGoToTheReferenceThatHasTheHour: a reference that changes takes no hours along.
func TestCorrectionsGoToTheReferenceThatHasTheHour(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	h.query.Tenant = "zoo"
	refer := func(ref string) { h.owner.MustExec(`update tenants set billing_ref = $1 where name = 'zoo'`, ref) }
	use := func(hour string, admitted, refused int) {
		h.owner.MustExec(`select test_usage(2, $1::timestamptz, 'key_0000000000000002', 'pro', $2, $3)`,
			"2026-11-20 "+hour+":00Z", admitted, refused)
	}
	h.wantSent(t, h.query, "cus_zoo 11-20T12 pro 7 0 #0")
	refer("cus_b")
	use("12", 3, 2)
	use("13", 5, 0)
	h.wantSent(t, h.query, "cus_zoo 11-20T12 pro 3 2 #1", "cus_b 11-20T13 pro 5 0 #0")
	h.owner.MustExec(`update tenants set billing_ref = null where name = 'zoo'`)
	use("12", -4, 0)
	h.wantSent(t, h.query, "cus_zoo 11-20T12 pro -4 0 #2")

	// The hour is moved in part: by SQL, as resend does it.
	h.owner.MustExec(`
		insert into sent_events (receiver, format, hour, counted_at, tenant_id, assignment, correction, version,
			event_id, billing_ref, admitted, refused)
		select receiver, format, hour, counted_at, tenant_id, assignment, n, version, event_id, ref, admits, 0
		from sent_events, (values (3, 'cus_zoo', -2), (4, 'cus_c', 2)) v (n, ref, admits)
		where tenant_id = 2 and hour = '2026-11-20 12:00Z' and correction = 0`)
	use("12", 10, 0)
	h.wantSent(t, h.query, "cus_c 11-20T12 pro 10 0 #5")
	use("12", -14, 1)
	h.wantSent(t, h.query, "cus_c 11-20T12 pro -12 1 #6", "cus_zoo 11-20T12 pro -2 0 #7")
	use("12", 1, 0)
	h.wantSent(t, h.query, "cus_c 11-20T12 pro 1 0 #8")
	h.owner.MustExec(
		`update tenant_plans set voided_at = '2026-11-21 15:40Z', void_reason = 'wrong' where tenant_id = 2`,
	)
	h.wantSent(
		t,
		h.query,
		"cus_c 11-20T12 pro -1 -1 #9",
		"cus_zoo 11-20T12 pro -2 -2 #10",
		"cus_b 11-20T13 pro -5 0 #1",
	)
	h.wantSent(t, h.query)
}

// TestResend: what other references got goes to the present one, and nothing of it comes again by
// itself.
func TestResend(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	refer := func(ref string) { h.owner.MustExec(`update tenants set billing_ref = $1 where name = 'zoo'`, ref) }
	resend := func(lost bool, now time.Time) (billing.Resent, error) {
		return h.Events.Resend(t.Context(), audit.By{Actor: "bill"}, billing.ResendQuery{
			Tenant: "zoo", Receiver: "stripe", Since: fixture.November, Until: fixture.December, Now: now, Lost: lost,
		})
	}
	wantRows := func(want ...string) {
		t.Helper()
		var got []string
		err := h.owner.Select(&got, `
			select concat_ws(' ', billing_ref, to_char(counted_at at time zone 'UTC', 'MM-DD"T"HH24'), admitted,
				'#' || correction, state, case when body like '%' || event_id || '%' then 'with body' end)
			from sent_events where tenant_id = 2 order by correction`)
		assert.Result(t, got, err, want, "events of zoo")
	}
	now := fixture.Noon.AddDate(0, 0, 2)
	_, err := resend(false, now)
	assert.ErrorIs(t, err, billing.ErrReceiverNew, "nothing was sent")
	assert.NoError(t, h.send(t, h.query, &sink{}))
	done, err := resend(false, now)
	assert.Result(t, done.Hours, err, 0, "hours at another reference")
	refer("cus_b")
	done, err = resend(false, now.AddDate(0, 2, 0))
	assert.Result(t, [2]int{int(done.Hours), len(done.LeftOut)}, err, [2]int{0, 1}, "what is too old for Stripe")
	done, err = resend(false, now)
	assert.Result(t, [2]int64{done.Hours, done.Admitted}, err, [2]int64{1, 7}, "hours and requests")
	moved := []string{
		"cus_zoo 11-20T12 7 #0 arrived",
		"cus_zoo 11-20T12 -7 #1 waiting with body",
		"cus_b 11-20T12 7 #2 waiting with body",
	}
	wantRows(moved...)
	h.wantSent(t, h.query)
	done, err = resend(false, now)
	assert.Result(t, done.Hours, err, 0, "hours of the second time")

	// cus_b never counted it: what waits for it is not sent, and what is taken back from cus_zoo is.
	refer("cus_c")
	done, err = resend(true, now)
	assert.Result(t, done.Hours, err, 1, "lost hours")
	moved[2] = "cus_b 11-20T12 7 #2 unsent with body"
	moved = append(moved, "cus_b 11-20T12 -7 #3 unsent", "cus_c 11-20T12 7 #4 waiting with body")
	wantRows(moved...)
	h.wantSent(t, h.query)

	// The undo lets what waited for cus_b wait again. Then nothing was resent.
	undo := func() error {
		var number int64
		assert.NoError(t, h.owner.Get(&number, `select max(number) from audit_entries where action = 'usage.resend'`))
		_, err := h.Undos.Do(t.Context(), audit.By{Actor: "bill"}, []int64{number}, time.Now())
		return err
	}
	assert.NoError(t, undo())
	moved[2] = "cus_b 11-20T12 7 #2 waiting with body"
	moved[4] = "cus_c 11-20T12 7 #4 unsent"
	moved = append(moved, "cus_c 11-20T12 -7 #5 unsent", "cus_b 11-20T12 7 #6 unsent")
	wantRows(moved...)
	h.wantSent(t, h.query)
	done, err = resend(true, now)
	assert.Result(t, done.Hours, err, 1, "lost hours, again")
	moved[2] = "cus_b 11-20T12 7 #2 unsent with body"
	moved = append(moved, "cus_b 11-20T12 -7 #7 unsent", "cus_c 11-20T12 7 #8 waiting with body")
	wantRows(moved...)
	h.owner.MustExec(`update sent_events set attempts = 1 where correction = 8`)
	err = undo()
	assert.True(t, err != nil && strings.Contains(err.Error(), "the receiver has some"), "undo of what was tried", err)

	// A closed month: it counts to the present hour.
	h.owner.MustExec(`insert into usage_months (month, begun_at) values ('2026-11-01', '2026-12-02 10:00Z')`)
	refer("cus_d")
	done, err = resend(false, fixture.December.Add(100*time.Hour+time.Minute))
	assert.Result(t, done.Hours, err, 1, "hours of a closed month")
	wantRows(append(moved, "cus_c 12-05T04 -7 #9 waiting with body", "cus_d 12-05T04 7 #10 waiting with body")...)
	all := h.query
	all.To = fixture.December.AddDate(0, 1, 0)
	h.wantSent(t, all)
	h.owner.MustExec(`update tenants set billing_ref = null where name = 'zoo'`)
	_, err = resend(false, now)
	assert.ErrorIs(t, err, billing.ErrNoReference, "no reference")
	var entry string
	err = h.owner.Get(&entry, `
		select concat_ws(' ', count(*), min(subject), min(tenant_id), min(after ->> 'admitted')) from audit_entries
		where action = 'usage.resend'`)
	assert.Result(t, entry, err, "4 receiver:stripe tenant:2 2 7", "audit entries")
}

func TestEventsOfPartOfTheUsage(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	q := h.query
	q.Tenant = "zoo"
	h.wantSent(t, q, "cus_zoo 11-20T12 pro 7 0 #0")
	q.Tenant = "acmee"
	assert.ErrorIs(t, h.send(t, q, &sink{}), plans.ErrTenantNotFound, "events of no tenant")
	q = h.query
	q.To = fixture.Noon
	h.wantSent(t, q)
	q.From, q.To = fixture.Noon, fixture.Noon.Add(time.Hour)
	h.wantSent(t, q, "cus_acme 11-20T12 pro 110 1 #0", "cus_acme 11-20T12 free 1000 2 #0")
}

// TestEventsAreRecordedWhenWritten: output that could not be written, a dry run, and what the sink
// leaves out leave no record.
func TestEventsAreRecordedWhenWritten(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	broken := errors.New("broken pipe")
	if err := h.send(t, h.query, &sink{err: broken}); !errors.Is(err, broken) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("error %v, want the sink's", err)
	}
	var s sink
	if err := h.Events.Send(
		t.Context(),
		audit.By{Actor: "bill", DryRun: true},
		h.query,
		&s,
	); err != nil ||
		len(s.got) != 3 {
		t.Errorf("dry run: %d events, %v", len(s.got), err)
	}
	var entries int
	h.owner.MustExec(`select`)
	if err := h.owner.Get(
		&entries,
		`select count(*) from audit_entries where action = 'usage.events'`,
	); err != nil ||
		entries != 0 {
		t.Errorf("%d audit entries of runs that recorded nothing, %v", entries, err)
	}
	h.wantSent(t, h.query, s.counts()...)
	var entry string
	err := h.owner.Get(
		&entry,
		`select concat_ws(' ', claimed_actor, subject, after ->> 'format', after ->> 'events', after ->> 'admitted')
		from audit_entries where action = 'usage.events'`,
	)
	assert.Result(t, entry, err, "bill receiver:stripe stripe 3 1117", "audit entry")
}

// TestEventsOfTwoRuns: of two runs at once for a receiver one is refused. For two receivers both
// run.
func TestEventsOfTwoRuns(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	other := h.query
	other.Receiver = "stripe-2"
	var second, third error
	first := sink{during: sync.OnceFunc(func() {
		second = h.send(t, h.query, &sink{})
		third = h.send(t, other, &sink{})
	})}
	if err := h.send(t, h.query, &first); err != nil || !errors.As(second, &billing.BusyError{}) || third != nil {
		t.Errorf("errors %v, %v and %v, want a busy receiver in the second", err, second, third)
	}
	other.Format = events.Lago
	assert.ErrorIs(t, h.send(t, other, &sink{}), billing.ErrReceiverFormat, "another format")

	// A receiver that has got nothing may still change it.
	empty := other
	empty.Receiver, empty.To = "stripe-3", empty.From
	for _, empty.Format = range []events.Format{events.Stripe, events.Lago} {
		assert.NoError(t, h.send(t, empty, &sink{}))
	}
}

// TestLateEvents: what arrives after its month was closed counts when it arrived, but within the
// month that has it as a correction.
func TestLateEvents(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	assert.NoError(t, h.send(t, h.query, &sink{}))
	h.owner.MustExec(`
		insert into usage_late (month, tenant_id, hour, key_id, assignment, version, admitted, refused, server_id,
			arrived_at)
		select l.month, 1, hour, 'key_0000000000000000', a.id, 1, admits, 0, 's', at
		from tenant_plans a, (values
		  (date '2026-11-01', timestamptz '2026-10-31 09:00Z', 3, timestamptz '2026-12-01 00:30Z'),
		  ('2026-12-01', '2026-11-20 12:00Z', 5, '2026-12-02 10:17Z'), ('2026-12-01', '2026-11-20 12:00Z', 4,
		      '2026-12-02 10:59Z'),
		  ('2026-12-01', '2026-11-20 12:00Z', -2, '2026-12-02 11:00Z')) l (month, hour, admits, at)
		where a.tenant_id = 1 and a.plan = 'pro'`)
	h.wantSent(t, h.query) // October was before its beginning.
	october := h.query
	october.From = fixture.November.AddDate(0, -1, 0)
	h.wantSent(t, october, "cus_acme 10-31T09 pro 3 0 #1 at 11-30T23")
	h.wantSent(t, h.query)
	next := h.query
	next.From, next.To = fixture.December, fixture.December.AddDate(0, 1, 0)
	want := []string{"cus_acme 11-20T12 pro 9 0 #1 at 12-02T10", "cus_acme 11-20T12 pro -2 0 #2 at 12-02T11"}
	unrecorded := next
	unrecorded.Receiver = ""
	h.wantSent(t, unrecorded, want...)
	fresh := next
	fresh.Receiver = "fresh"
	h.wantSent(t, fresh)
	h.wantSent(t, next, want...)
	h.wantSent(t, next)
	h.owner.MustExec(`
		insert into usage_late (month, tenant_id, hour, key_id, assignment, version, admitted, refused, server_id,
			arrived_at)
		select month, tenant_id, hour, key_id, assignment, version, 1, refused, server_id, arrived_at from usage_late
			where admitted = -2`)
	h.wantSent(t, next, "cus_acme 11-20T12 pro 1 0 #3 at 12-02T11")
}

// TestVoidEvents: usage under a void assignment is taken back: where it was counted, or, once the
// month is closed, when it was voided.
func TestVoidEvents(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	h.owner.MustExec(`select test_usage(1, '2026-10-31 09:00Z', 'key_0000000000000000', 'free', 3, 0);
		insert into usage_months (month, begun_at) values ('2026-10-01', '2026-11-02 10:00Z')`)
	october, all := h.query, []string{"cus_acme 11-20T12 pro 110 1 #0", "cus_zoo 11-20T12 pro 7 0 #0"}
	october.From = fixture.November.AddDate(0, -1, 0)
	behind, tooOld := october, sink{since: fixture.November}
	behind.Receiver = "behind"
	assert.NoError(t, errors.Join(h.send(t, october, &sink{}), h.send(t, behind, &tooOld)))
	h.owner.MustExec(
		`update tenant_plans set voided_at = '2026-11-21 15:40Z', void_reason = 'wrong tenant' where tenant_id = 1 and
			plan = 'free'`,
	)
	fresh := h.query
	fresh.Receiver = "fresh"
	h.wantSent(t, fresh, all...)
	// What was too old is not taken back.
	tooOld.got = nil
	err := h.send(t, behind, &tooOld)
	if diff := cmp.Diff(
		[]string{"cus_acme 10-31T09 free 3 0 #0", "cus_acme 11-20T12 free -1000 -2 #1"},
		tooOld.counts(),
	); diff != "" ||
		err != nil {
		t.Errorf("what was left out (-want +got):\n%s%v", diff, err)
	}
	h.wantSent(t, october, "cus_acme 11-20T12 free -1000 -2 #1", "cus_acme 10-31T09 free -3 0 #1 at 11-21T15")
	h.wantSent(t, october)
	// For a receiver that has nothing yet, what is in open months never counted.
	october.Receiver = ""
	h.wantSent(
		t,
		october,
		append(
			[]string{"cus_acme 10-31T09 free 3 0 #0"},
			append(all, "cus_acme 10-31T09 free -3 0 #1 at 11-21T15")...)...)
	// It stays so when November is closed.
	h.owner.MustExec(`insert into usage_months (month, begun_at) values ('2026-11-01', '2026-12-02 10:00Z')`)
	october.Receiver = "stripe"
	h.wantSent(t, october)
}

// TestGivenBackEvents: a void mark that is removed after the month was closed with it gives usage
// back in the hour of the run, because an open month has it.
func TestGivenBackEvents(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	h.owner.MustExec(`select test_usage(1, '2026-10-30 15:00Z', 'key_0000000000000000', 'free', 10, 1)`)
	mark := func(at any) {
		t.Helper()
		h.owner.MustExec(`
			update tenant_plans set voided_at = $1, void_reason = case when $1::timestamptz is not null then 'wrong' end
			where tenant_id = 1 and plan = 'free'`, at)
	}
	closeMonth := func(month, begun string) {
		h.owner.MustExec(`
			insert into usage_months (month, begun_at, void)
			values ($1, $2, array(select id from tenant_plans where voided_at is not null))`, month, begun)
	}
	stripe := h.query
	stripe.From, stripe.To = fixture.November.AddDate(0, -1, 0), fixture.November.AddDate(0, 0, 10)
	behind, unrecorded := stripe, stripe
	behind.Receiver, unrecorded.Receiver = "behind", ""
	const used, back = "cus_acme 10-30T15 free 10 1 #0", "cus_acme 10-30T15 free -10 -1 #1"
	h.wantSent(t, stripe, used)
	h.wantSent(t, behind, used)
	mark("2026-10-31 20:10Z")
	h.wantSent(t, stripe, back)
	closeMonth("2026-10-01", "2026-11-01 00:30Z")
	h.wantSent(t, behind, back) // As the closed month has it.

	mark(nil)
	stripe.Now = fixture.November.Add(100*time.Hour + time.Minute)
	h.wantSent(t, unrecorded, used)
	h.wantSent(t, stripe, "cus_acme 10-30T15 free 10 1 #2 at 11-05T04")
	h.wantSent(t, stripe)
	fresh := stripe
	fresh.Receiver = "fresh"
	h.wantSent(t, fresh, used+" at 11-05T04")
	h.wantSent(t, fresh)
	mark("2026-11-07 09:40Z")
	h.wantSent(t, stripe, "cus_acme 10-30T15 free -10 -1 #5 at 11-07T09")
	h.wantSent(t, fresh, "cus_acme 10-30T15 free -10 -1 #3 at 11-07T09")
	h.wantSent(t, stripe)

	// What was taken back in a month that is closed since is given back after it.
	closeMonth("2026-11-01", "2026-12-01 00:30Z")
	mark(nil)
	stripe.To, stripe.Now = fixture.December.AddDate(0, 0, 2), fixture.December.Add(30*time.Hour)
	stripe.From = fixture.November.AddDate(0, -1, 0)
	zoo := []string{"cus_acme 11-20T12 pro 110 1 #0", "cus_acme 11-20T12 free 1000 2 #0 at 12-02T06",
		"cus_zoo 11-20T12 pro 7 0 #0"}
	h.wantSent(t, stripe, append([]string{"cus_acme 10-30T15 free 10 1 #6 at 12-02T06"}, zoo...)...)
	h.wantSent(t, stripe)

	var sums string
	err := h.owner.Get(&sums, `
		select string_agg(concat_ws(' ', month, admitted), ', ' order by month) from (
		  select to_char(counted_at at time zone 'UTC', 'MM') as month, sum(admitted) as admitted from sent_events
		  where receiver = 'stripe' and format <> '' group by 1
		) s`)
	assert.Result(t, sums, err, "10 0, 11 117, 12 1010", "sums of months")
	var entries string
	err = h.owner.Get(&entries, `
		select sum((after ->> 'admitted')::bigint) from audit_entries
		where action = 'usage.events' and subject = 'receiver:stripe'`)
	assert.Result(t, entries, err, "1127", "sums of the audit trail")
}

// TestVoidEventsByDay: what was taken back by hour is not sent again when its month is summed into
// days. A receiver from which it was not taken back gets that by day, and one that begins after it
// gets nothing.
func TestVoidEventsByDay(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Deliver(t, "s1", fixture.Nov, fixture.Used(fixture.Pro, fixture.Oct.AddDate(0, 0, 19).Add(11*time.Hour), 70, 3))
	b.Close(t, fixture.Oct)
	b.Deliver(t, "s1", fixture.Dec, fixture.Used(fixture.Business, fixture.Oct.Add(500*time.Hour), 5, 0))
	send := func(receiver string, from time.Time, want ...string) {
		t.Helper()
		var s sink
		q := billing.EventQuery{
			From:     from,
			To:       time.Now().Truncate(time.Hour).Add(2 * time.Hour),
			Receiver: receiver,
			Format:   events.CloudEvents,
		}
		err := b.Billing.Events.Send(t.Context(), fixture.Bill, q, &s)
		var got []string
		for _, e := range s.got {
			got = append(
				got,
				fmt.Sprintf("%s %d %d %d", e.Hour.Format("01-02T15"), e.Assignment, e.Admitted, e.Refused),
			)
		}
		assert.Result(t, got, err, want, "to", receiver)
	}
	all := []string{"10-02T09 1 8030 12", "10-20T10 1 10 0", "10-20T10 3 44100 0", "10-20T11 1 70 3", "10-21T20 3 5 0"}
	send("early", fixture.Oct, all...)
	send("later", fixture.Oct, all...)
	b.Exec(t, `update tenant_plans set voided_at = now(), void_reason = 'wrong plan' where id = 1`)
	send("early", fixture.Nov, "10-02T09 1 -8030 -12", "10-20T10 1 -10 0", "10-20T11 1 -70 -3")
	b.EndPartition(t, fixture.Nov)
	b.RollUp(t, 1000)
	send("early", fixture.Nov)
	send("later", fixture.Nov, "10-02T00 1 -8030 -12", "10-20T00 1 -80 -3")
	send("later", fixture.Nov)
	send("fresh", fixture.Nov)
	b.Exec(t, `update tenant_plans set voided_at = null, void_reason = null where id = 1`)
	send("early", fixture.Nov, "10-02T00 1 8030 12", "10-20T00 1 80 3")
	send("early", fixture.Nov)
}

// TestEventsInPages: an hour with more events than are in memory at a time.
func TestEventsInPages(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	h.owner.MustExec(`
		select test_tenant('t' || n, 'pro') from generate_series(3, 2500) n;
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_' || lpad(id::text, 16, 'x'), id, 'live', sha256(name::bytea), '0001', now() from tenants where id
			> 2;
		insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
		select k.tenant_id, '2026-11-20 12:00Z', k.id, a.id, 1, 1, 0 from api_keys k join tenant_plans a using
			(tenant_id) where k.tenant_id > 2`)
	var s sink
	err := h.send(t, h.query, &s)
	ids := map[string]bool{}
	for _, e := range s.got {
		ids[events.Stripe.ID(e).String()] = true
	}
	if want := 2498 + 3; err != nil || len(s.got) != want || len(ids) != want || s.pages != 2000 {
		t.Errorf("%d events with %d IDs in pages of up to %d, %v", len(s.got), len(ids), s.pages, err)
	}
	h.wantSent(t, h.query)
}

// TestFirstRunReadsLittle: the first run for a receiver looks up what was sent of an hour, and reads
// no more the more was sent.
func TestFirstRunReadsLittle(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	h.owner.MustExec(`
		select test_usage(2, timestamptz '2026-11-01Z' + n * interval '1 hour', 'key_0000000000000002', 'pro', 1, 0)
		from generate_series(1, 400) n`)
	var s sink
	assert.NoError(t, h.send(t, h.query, &s))
	assert.Equal(t, len(s.got), 403, "events")
	// A session that ends has counted its scans.
	h.owner.MustExec(`
		select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`)
	var read struct{ Scans, Rows int64 }
	wait.Until(t, "Postgres counts the scans", func() bool {
		err := h.owner.Get(&read, `
			select coalesce(sum(idx_scan), 0) as scans, coalesce(sum(idx_tup_read), 0) as rows
			from pg_stat_user_indexes where relname = 'sent_events'`)
		return err == nil && read.Scans > 400
	})
	assert.True(t, read.Rows < 5*read.Scans, read.Rows, "rows in", read.Scans, "scans")
}
