package billing_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
	"petstore.example/internal/usage"
	"petstore.example/internal/usage/closing"
	"petstore.example/internal/usage/events"
)

// ignoreHashes leaves out what other tests look at.
func ignoreHashes(lines []closing.Line) []closing.Line {
	for i := range lines {
		lines[i].Recorded = closing.Hash{}
	}
	return lines
}

func TestLinesOfAMonth(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	move := fixture.Oct.AddDate(0, 0, 19).Add(10*time.Hour + 30*time.Minute)
	line := func(tenant int64, name, plan string, assignment int64, q plans.Quota, from, to time.Time) closing.Line {
		return closing.Line{
			Month:      "2025-10",
			TenantID:   tenant,
			Tenant:     name,
			Plan:       plan,
			PerMinute:  q.PerMinute,
			PerDay:     q.PerDay,
			From:       from,
			To:         to,
			Assignment: assignment,
			Version:    1,
			Kind:       "assign",
		}
	}
	first := line(
		fixture.Acme,
		"acme",
		"pro",
		fixture.Pro,
		plans.Quota{PerMinute: 300, PerDay: 10_000},
		fixture.Oct,
		move,
	)
	second := line(
		fixture.Acme,
		"acme",
		"business",
		fixture.Business,
		plans.Quota{PerMinute: 1000, PerDay: 100_000},
		move,
		fixture.Nov,
	)
	third := line(
		fixture.Zoo,
		"zoo",
		"free",
		fixture.Free,
		plans.Quota{PerMinute: 60, PerDay: 1000},
		fixture.Oct,
		fixture.Nov,
	)
	first.Admitted, first.Refused = 8040, 12
	second.Admitted, second.Suspended = 44100, 3600
	want := []closing.Line{first, second, third}
	assert.DeepEqual(t, b.Lines(t, fixture.Oct), want, "while the month is open")
	m := b.Close(t, fixture.Oct)
	sealed := b.Lines(t, fixture.Oct)
	if sealed[0].Recorded == (closing.Hash{}) || sealed[2].Recorded != closing.Sum("") {
		t.Errorf("the hashes of what is recorded: %s, %s", sealed[0].Recorded, sealed[2].Recorded)
	}
	assert.DeepEqual(t, ignoreHashes(sealed), want, "sealed")
	if m.Sums.Tenants != 2 || m.Sums.Lines != 3 || m.Sums.Admitted != 52140 || m.Sums.Refused != 12 ||
		m.SealedBy != storetest.BillingLogin {
		t.Errorf("closed: %+v", m)
	}
	assert.Equal(t, b.Verify(t, fixture.Oct), "")
	after := b.Text(t, `select after::text from audit_entries where action = 'usage.close'`)
	for _, part := range []string{`"sha256": "` + m.Sums.SHA256.String() + `"`, `"lines": 3`, `"month": "2025-10"`,
		`"admitted": 52140`, `"without": []`} {
		assert.Contains(t, after, part, "the audit entry")
	}
}

// TestSuspendedSeconds: a suspension counts in each line for the time of that line alone.
func TestSuspendedSeconds(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t) // with an hour of business
	b.Exec(t, `
		insert into tenant_suspensions (tenant_id, valid_from, valid_to)
		values (1, '2025-09-30 22:00Z', '2025-10-01 02:00Z'), (1, '2025-10-20 10:00Z', '2025-10-20 11:30Z')`)
	lines := b.Lines(t, fixture.Oct)
	assert.Equal(t, lines[0].Suspended, int64(2*3600+30*60), "pro, until 10:30 on the 20th")
	assert.Equal(t, lines[1].Suspended, int64(3600+3600), "business, from then on")
}

// TestRecordedHash: the hash of a line is that of the rows that it sums, by the hour and then by
// the bytes of the key.
func TestRecordedHash(t *testing.T) {
	t.Parallel()
	b := fixture.NewBooks(t)
	b.Exec(t, `
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_' || n || '000000000000000', 1, 'live', sha256(n::bytea), '0001', now() from
			unnest('{a,B,0}'::text[]) n`)
	b.Exec(t, `
		insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
		select 1, h, 'key_' || n || '000000000000000', 1, 1, 5, 2 from unnest('{a,B,0}'::text[]) n,
			unnest('{2025-10-02 01:00Z,2025-10-02 00:00Z}'::timestamptz[]) h`)
	b.Close(t, fixture.Oct)
	var rows strings.Builder
	for _, hour := range []time.Time{fixture.Oct.AddDate(0, 0, 1), fixture.Oct.AddDate(0, 0, 1).Add(time.Hour)} {
		for _, key := range []string{"0", "B", "a"} {
			fmt.Fprintf(&rows, "%d key_%s000000000000000 5 2\n", hour.Unix(), key)
		}
	}
	if got, want := b.Lines(t, fixture.Oct)[0].Recorded, closing.Sum(rows.String()); got != want {
		t.Errorf("recorded_sha256 is %s, want %s of\n%s", got, want, rows.String())
	}
}

// TestClosingIsRefused: of a month that has not ended, that is closed, before which one is open, or
// after which one is closed.
func TestClosingIsRefused(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Deliver(t, "s1", fixture.Nov, fixture.Used(fixture.Pro, fixture.Sept.Add(time.Hour), 1, 0))
	future := time.Now().UTC().AddDate(0, 0, 1-time.Now().UTC().Day()).Truncate(24 * time.Hour)
	for _, tt := range []struct {
		month time.Time
		want  error
	}{{future, billing.ErrMonthNotEnded}, {fixture.Oct, billing.ErrEarlierMonthOpen}, {fixture.Sept, nil},
		{fixture.Sept, billing.ErrMonthClosed}, {fixture.Oct, nil},
		{fixture.Sept.AddDate(0, -1, 0), billing.ErrLaterMonthClosed}} {
		dry := fixture.Bill
		dry.DryRun = true
		if _, err := b.Billing.Months.Close(
			t.Context(),
			dry,
			tt.month,
			nil,
		); !errors.Is(err, tt.want) &&
			!errors.Is(tt.want, billing.ErrMonthClosed) {
			t.Errorf("dry run for %v: %v, want %v", tt.month, err, tt.want)
		}
		_, err := b.Billing.Months.Close(t.Context(), fixture.Bill, tt.month, nil)
		assert.ErrorIs(t, err, tt.want, tt.month)
	}
	if _, err := storetest.Open(
		t,
		b.SupportURL,
		store.Options{},
	).Months.Close(
		t.Context(),
		fixture.Bill,
		fixture.Nov,
		nil,
	); !store.IsForbidden(err) {
		t.Errorf("support: %v, want that it may not", err)
	}
}

// TestInterruptedClosing: after the first step usage is late, and a later call seals the month.
func TestInterruptedClosing(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Exec(t, `select begin_closing('2025-10-01', '{}')`)
	b.Deliver(t, "s1", fixture.Nov, fixture.Used(fixture.Pro, fixture.Oct, 9, 0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Billing.Months.Close(ctx, fixture.Bill, fixture.Oct, nil); err == nil {
		t.Error("a canceled call closed the month")
	}
	if m, err := b.Billing.Months.Get(t.Context(), fixture.Oct); err != nil || m.Sealed() {
		t.Errorf("after the interruption: %+v, %v", m, err)
	}
	_, err := b.Billing.Months.Verify(t.Context(), fixture.Oct)
	assert.ErrorIs(t, err, billing.ErrMonthOpen, "verify")
	m := b.Close(t, fixture.Oct)
	assert.Equal(t, m.Sums.Admitted, 52140, "sealed")
}

// TestDelivery: which servers a month waits for.
func TestDelivery(t *testing.T) {
	t.Parallel()
	b := fixture.NewBooks(t)
	names := func() (got []string) {
		list, err := b.Billing.Months.Undelivered(t.Context(), fixture.Nov)
		assert.NoError(t, err)
		for _, d := range list {
			got = append(got, d.ServerID)
		}
		return got
	}
	expect := func(when string, want ...string) {
		t.Helper()
		assert.DeepEqual(t, names(), want, when)
	}
	b.Deliver(t, "unknown", time.Time{}, fixture.Used(fixture.Pro, fixture.Oct, 1, 0))
	b.Deliver(t, "behind", fixture.Nov.Add(-time.Microsecond))
	b.Deliver(t, "done", fixture.Nov)
	b.Deliver(t, "ended", fixture.Oct)
	assert.NoError(t, b.API.Usage.EndUsage(t.Context(), "ended"))
	expect("at first", "unknown", "behind")
	b.Deliver(t, "done", fixture.Oct)
	b.Deliver(t, "behind", fixture.Nov)
	expect("later; nothing goes back", "unknown")
	b.Deliver(t, "liar", time.Now().AddDate(1, 0, 0))
	b.Want(t, "true", `select delivered_to <= now() from usage_writers where server_id = 'liar'`)
	m := b.Close(t, fixture.Oct, "unknown")
	assert.DeepEqual(t, m.Without, []string{"unknown"}, "left out")
	expect("after it was left out")
	b.Deliver(t, "unknown", time.Time{}, fixture.Used(fixture.Pro, fixture.Oct, 1, 0))
	expect("after it wrote again", "unknown")
	// It is forgotten when it is long gone and its month is closed, and not before.
	b.Exec(t, `update usage_writers set written_at = '2025-10-31Z' where server_id = 'unknown'`)
	b.Exec(t, `update usage_writers set written_at = '2025-11-01Z' where server_id = 'behind'`)
	b.Batches["done"] = 4999
	b.Deliver(t, "done", fixture.Nov)
	b.Want(t, "behind done liar", `select string_agg(server_id, ' ' order by server_id) from usage_writers`)
}

// TestForgottenServers: a server that staff forgot is not waited for until it delivers again. It
// stands in the month that it had not delivered when that is closed, and in a later one only if it
// was forgotten anew.
func TestForgottenServers(t *testing.T) {
	t.Parallel()
	b := fixture.NewBooks(t)
	forget := func(server string) error {
		gone, err := b.Billing.Months.Forget(t.Context(), fixture.Bill, server)
		assert.True(t, !gone.Already, server)
		return err
	}
	b.Deliver(t, "done", fixture.Nov)
	b.Deliver(t, "gone", fixture.Oct.Add(time.Hour), fixture.Used(fixture.Pro, fixture.Oct, 1, 0))
	b.Deliver(t, "frozen", fixture.Oct.Add(time.Hour))
	for _, server := range []string{"done", "gone", "frozen"} {
		assert.NoError(t, forget(server))
	}
	again, err := b.Billing.Months.Forget(t.Context(), fixture.Bill, "gone")
	assert.Result(t, again.Already, err, true, "forgotten already")
	b.Want(t, "3", `select count(*)::text from audit_entries where action = 'usage.forget'`)
	assert.ErrorIs(t, forget("nobody"), billing.ErrServerUnknown)
	b.Exec(t, `insert into servers (id, seen_at, redis, acked) values ('alive', now(), '', 0)`)
	assert.ErrorIs(t, forget("alive"), billing.ErrServerAlive)
	list, err := b.Billing.Months.Undelivered(t.Context(), fixture.Nov)
	assert.NoError(t, err)
	assert.Equal(t, len(list), 0, "not delivered")

	b.Deliver(t, "frozen", fixture.Nov.Add(time.Hour))
	assert.DeepEqual(t, b.Close(t, fixture.Oct).Without, []string{"gone"}, "October")
	b.Deliver(t, "gone", time.Time{}, fixture.Used(fixture.Pro, fixture.Oct, 9, 0))
	assert.NoError(t, forget("frozen"))
	november := b.Close(t, fixture.Nov)
	assert.DeepEqual(t, november.Without, []string{"done", "frozen"}, "November")
	assert.Equal(t, november.Sums.Admitted, 9, "a correction: what was delivered after all")
	assert.NoError(t, forget("gone"))
	assert.DeepEqual(t, b.Close(t, fixture.Nov.AddDate(0, 1, 0)).Without, []string{"gone"}, "December")
}

// TestClosedMonthsAreProtected: not even the owner changes them without disabling triggers.
func TestClosedMonthsAreProtected(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Close(t, fixture.Oct)
	b.Deliver(
		t,
		"s1",
		fixture.Nov,
		fixture.Used(fixture.Pro, fixture.Oct, 9, 0),
		fixture.Used(fixture.Business, fixture.Nov, 1, 0),
	)
	for _, statement := range []string{
		`update usage_hourly set admitted = 1 where hour < '2025-11-01Z'`,
		`update usage_hourly set hour = '2025-10-01Z' where hour >= '2025-11-01Z'`,
		`delete from usage_hourly where hour < '2025-11-01Z'`,
		`truncate usage_hourly`,
		`insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused) values (1,
			'2025-10-01Z', 'key_0000000000000001', 1, 1, 1, 1)`,
		`update usage_lines set form = form where number = 1`,
		`delete from usage_lines`,
		`insert into usage_lines (month, tenant_id, number, form, sha256) select month, tenant_id, number + 9, form,
			sha256 from usage_lines`,
		`truncate usage_lines cascade`,
		`update usage_months set lines = 1`,
		`delete from usage_months`,
		`truncate usage_months cascade`,
		`update usage_late set admitted = 1`,
		`delete from usage_late`,
		`truncate usage_late`,
	} {
		if _, err := b.Owner.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s was allowed", statement)
		}
	}
	b.Exec(t, `update usage_hourly set admitted = 2 where hour >= '2025-11-01Z'`)
	assert.Equal(t, b.Verify(t, fixture.Oct), "")
}

// history is of random changes: what three servers delivered, by the month of the requests and the
// assignment, of assignments of two tenants.
type history struct {
	*fixture.Books

	random      *rand.Rand
	assignments []usage.Bucket
	delivered   map[string]int64
	months      []time.Time
	closed      map[time.Time][]closing.Line
	// sent is what a receiver was sent so far of each tenant, and sentIn in each month of each
	// assignment. marked were void once.
	sent   map[int64]int64
	sentIn map[inMonth]int64
	marked map[int64]bool
}

type inMonth struct {
	month      string
	assignment int64
}

// TestTotalsConserve: at any time, whatever is assigned, void or restored, delivered late and
// closed, the lines of all months add up for each tenant to the events of all hours, and to what a
// receiver was sent; of what was never void in each month. Those that are not void add up to what
// was delivered, and no closed month changes.
func TestTotalsConserve(t *testing.T) {
	t.Parallel()
	taken := 0
	for _, seed := range []uint64{1, 3} { // in both, closed months take back lines of earlier ones
		h := &history{
			fixture.NewBooks(t),
			rand.New(rand.NewPCG(seed, 0)),
			[]usage.Bucket{
				{TenantID: fixture.Acme, Assignment: fixture.Pro},
				{TenantID: fixture.Zoo, Assignment: fixture.Free},
			},
			map[string]int64{},
			[]time.Time{fixture.Sept, fixture.Oct, fixture.Nov, fixture.Dec},
			map[time.Time][]closing.Line{},
			map[int64]int64{},
			map[inMonth]int64{},
			map[int64]bool{},
		}
		for step := range 40 {
			h.step(t)
			h.check(t)
			if t.Failed() {
				t.Fatalf("seed %d fails at step %d", seed, step)
			}
		}
		for _, lines := range h.closed {
			for _, l := range lines {
				if l.Void && l.Corrects < l.Month && l.Admitted < 0 {
					taken++
				}
			}
		}
	}
	assert.True(t, taken >= 2, "closed months take back", taken, "lines of earlier ones")
}

func (h *history) step(t *testing.T) {
	t.Helper()
	next := h.months[len(h.closed)]
	switch h.random.IntN(8) {
	case 0:
		a := usage.Bucket{TenantID: 1 + h.random.Int64N(2)}
		assert.NoError(
			t,
			h.Owner.Get(
				&a.Assignment,
				`insert into tenant_plans (tenant_id, valid_from, plan) values ($1, $2, $3) returning id`,
				a.TenantID,
				next.Add(time.Duration(h.random.IntN(1e6))*time.Second),
				[]string{"free", "pro", "business"}[h.random.IntN(3)],
			),
		)
		h.assignments = append(h.assignments, a)
	case 1, 2:
		h.mark(t)
	case 3:
		if next.Equal(fixture.Dec) {
			return
		}
		if h.random.IntN(2) == 0 {
			h.Exec(t, `select begin_closing($1, '{}')`, next)
			h.mark(t)
		}
		h.Close(t, next)
		h.closed[next] = h.Lines(t, next)
	default:
		of, month := h.assignments[h.random.IntN(len(h.assignments))], h.months[h.random.IntN(len(h.months))]
		c := fixture.Used(
			of.Assignment,
			month.Add(time.Duration(h.random.IntN(4))*100*time.Hour),
			1+h.random.Int64N(100),
			h.random.Int64N(3),
		)
		c.TenantID, c.KeyID = of.TenantID, fmt.Sprint("key_000000000000000", of.TenantID)
		h.Deliver(t, fmt.Sprint("s", h.random.IntN(3)), time.Time{}, c)
		h.delivered[fmt.Sprint(month.Format("2006-01"), " ", c.Assignment)] += c.Admitted + c.Refused
	}
}

// mark marks one of the assignments as void, or restores it.
func (h history) mark(t *testing.T) {
	t.Helper()
	id := h.assignments[h.random.IntN(len(h.assignments))].Assignment
	h.marked[id] = true
	h.Exec(t, `update tenant_plans set voided_at = case when voided_at is null then clock_timestamp() end,
		void_reason = case when voided_at is null then 'a mistake' end where id = $1`, id)
}

func (h history) check(t *testing.T) {
	t.Helper()
	lines, linesIn, delivered, said := map[int64]int64{}, map[inMonth]int64{}, map[string]int64{}, map[string]bool{}
	for _, month := range append(h.months, fixture.Dec.AddDate(0, 1, 0)) {
		all := h.Lines(t, month)
		if sealed, ok := h.closed[month]; ok {
			assert.DeepEqual(t, all, sealed, month, "has changed -sealed +now")
			assert.Equal(t, h.Verify(t, month), "", month)
		}
		for _, l := range all {
			of := l.Month
			if l.Corrects != "" {
				of = l.Corrects
			}
			key, n := fmt.Sprint(of, " ", l.Assignment), l.Admitted+l.Refused
			lines[l.TenantID] += n
			if n != 0 {
				linesIn[inMonth{l.Month, l.Assignment}] += n
			}
			switch {
			case !l.Void && n != 0:
				delivered[key] += n
			case l.Void && n == 0 && said[key]:
				t.Errorf("%s: it is said again that this is void", key)
			}
			said[key] = said[key] || l.Void
		}
	}
	all := map[int64]int64{}
	for _, e := range h.send(t, "") {
		all[e.TenantID] += e.Admitted + e.Refused
	}
	for _, e := range h.send(t, "r") {
		h.sent[e.TenantID] += e.Admitted + e.Refused
		h.sentIn[inMonth{e.At.Format("2006-01"), e.Assignment}] += e.Admitted + e.Refused
	}
	for _, tenant := range []int64{fixture.Acme, fixture.Zoo} {
		if lines[tenant] != all[tenant] || lines[tenant] != h.sent[tenant] {
			t.Errorf(
				"tenant %d: the lines add up to %d, the events to %d, %d were sent",
				tenant,
				lines[tenant],
				all[tenant],
				h.sent[tenant],
			)
		}
	}
	everVoid := cmpopts.IgnoreMapEntries(func(of inMonth, _ int64) bool { return h.marked[of.assignment] })
	if diff := cmp.Diff(h.sentIn, linesIn, everVoid); diff != "" {
		t.Errorf("requests by month (-sent +lines):\n%s", diff)
	}
	assert.DeepEqual(t, delivered, h.delivered, "requests by month and assignment -delivered +lines")
}

// send returns the events of all hours.
func (h history) send(t *testing.T, receiver string) []events.Event {
	t.Helper()
	var s sink
	q := billing.EventQuery{
		From:     fixture.Sept,
		To:       time.Now().Add(time.Hour),
		Receiver: receiver,
		Format:   events.CloudEvents,
	}
	assert.NoError(t, h.Billing.Events.Send(t.Context(), fixture.Bill, q, &s))
	return s.got
}

// TestServersDoNotWaitForClosing: while a batch keeps a month from being closed, other batches are
// recorded within the time of a call.
func TestServersDoNotWaitForClosing(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	slow, err := b.Owner.BeginTxx(t.Context(), nil)
	assert.NoError(t, err)
	slow.MustExec(`lock table usage_months in row share mode`)
	done := make(chan error, 1)
	go func() {
		_, err := b.Billing.Months.Close(t.Context(), fixture.Bill, fixture.Oct, nil)
		done <- err
	}()
	for n := range 5 {
		began := time.Now()
		b.Deliver(t, "s2", fixture.Nov, fixture.Used(fixture.Business, fixture.Nov, 1, 0))
		took := time.Since(began)
		wait.Bound(t, fmt.Sprint("batch ", n), took, 1100*time.Millisecond)
	}
	select {
	case err := <-done:
		t.Errorf("closed while a batch was under way: %v", err)
	default:
	}
	assert.NoError(t, slow.Commit())
	assert.Equal(t, <-done, nil)
}
