package billing_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/usage"
	"petstore.example/internal/usage/events"
)

// monthly are plans with a month. The first has a version for each half of October.
const monthly = `
	insert into price_list (name, position) values ('small', 10), ('open', 11), ('metered', 12);
	insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day, month, per_month, overage,
		overage_value)
	values ('small', 1, 1, '2025-01-01Z', 10, 100, 'some', 100, 'share', 20),
	       ('small', 2, 1, '2025-10-17Z', 10, 100, 'some', 150, 'number', 10),
	       ('open', 1, 1, '2025-01-01Z', 10, 100, 'some', 300, 'unlimited', null),
	       ('metered', 1, 1, '2025-01-01Z', 10, 100, 'some', 0, 'number', 500)`

// overageBooks are of many tenants, each with a random timeline.
type overageBooks struct {
	*fixture.Books

	random  *rand.Rand
	periods map[int64][]overagePeriod
	// disordered are tenants with requests under a period that was not in force then.
	disordered map[int64]bool
	// coming is what was used in each month and not delivered yet, delivered what may be refunded.
	coming, delivered map[time.Time][]used
}

// overagePeriod is a row of quota_periods.
type overagePeriod struct {
	Tenant     int64     `db:"tenant_id"`
	Assignment int64     `db:"assignment"`
	Version    int64     `db:"version"`
	PerMonth   *int64    `db:"per_month"`
	Limit      *int64    `db:"overage_limit"`
	From       time.Time `db:"valid_from"`
	To         time.Time `db:"valid_to"`
}

func (p overagePeriod) month() plans.Month {
	if p.PerMonth == nil {
		return plans.Month{}
	}
	return plans.Month{Kind: plans.SomeMonth, Included: *p.PerMonth}
}

// used is usage of an hour. Late usage arrives at a given time.
type used struct {
	Tenant     int64     `json:"tenant_id"`
	Hour       time.Time `json:"hour"`
	Assignment int64     `json:"assignment"`
	Version    int64     `json:"version"`
	Admitted   int64     `json:"admitted"`
	At         time.Time `json:"at"`
}

const usedRows = `json_to_recordset($1) as u (tenant_id bigint, hour timestamptz, assignment bigint, version integer,
	admitted bigint, at timestamptz)`

// billedAs is what has an overage.
type billedAs struct {
	tenant              int64
	month               string
	assignment, version int64
}

// TestOverageConserves: for each tenant, month, assignment and version the overage of all lines is
// that of the rule, and so are the sum of events, the view, and what a receiver was sent; whatever
// is assigned, delivered late, refunded, void, restored and closed. Nothing is billed above a limit
// of overage.
func TestOverageConserves(t *testing.T) {
	t.Parallel()
	tenants := 700 // 2,100 months
	if testing.Short() {
		tenants = 150
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	b := &overageBooks{
		fixture.NewBooks(t), rand.New(rand.NewPCG(seed, 0)), map[int64][]overagePeriod{}, map[int64]bool{},
		map[time.Time][]used{}, map[time.Time][]used{},
	}
	b.Exec(t, monthly)
	b.newTenants(t, tenants)
	b.check(t, fixture.Oct)
	for i, month := range []time.Time{fixture.Oct, fixture.Nov, fixture.Dec} {
		next := month.AddDate(0, 1, 0)
		b.use(month)
		b.deliver(t, month)
		for before := range i {
			b.deliverLate(t, fixture.Oct.AddDate(0, before, 0), month)
		}
		b.mark(t, month)
		b.check(t, next)
		b.mark(t, month)
		b.Close(t, month)
		// As if it had been closed on the second.
		b.Exec(t, `set session_replication_role = replica`)
		b.Exec(t, `update usage_months set begun_at = month + interval '1 month 34 hours' where month = $1`, month)
		b.Exec(t, `set session_replication_role = default`)
		b.check(t, next.AddDate(0, 0, 3))
	}
}

// newTenants assigns plans at random from September to December.
func (b *overageBooks) newTenants(t *testing.T, n int) {
	t.Helper()
	b.Exec(t, `
		insert into tenants (name, created_at) select 't' || n, '2025-09-01Z' from generate_series(3, $1) n;`, n+2)
	b.Exec(t, `
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_' || lpad(id::text, 16, '0'), id, 'live', sha256(name::bytea), '0001', created_at
		from tenants where id > 2`)
	type assigned struct {
		Tenant int64     `json:"tenant_id"`
		From   time.Time `json:"valid_from"`
		Plan   string    `json:"plan"`
	}
	var list []assigned
	for tenant := int64(3); tenant < int64(n)+3; tenant++ {
		from := fixture.Sept
		for range 1 + b.random.IntN(6) {
			plan := []string{"small", "small", "open", "metered", "free"}[b.random.IntN(5)]
			list = append(list, assigned{tenant, from, plan})
			if from = from.AddDate(0, 0, 1+b.random.IntN(50)); b.random.IntN(2) == 0 {
				from = b.instant(from)
			}
		}
	}
	b.Exec(t, `
		insert into tenant_plans (tenant_id, valid_from, plan)
		select * from json_to_recordset($1) as a (tenant_id bigint, valid_from timestamptz, plan text)`,
		asJSON(t, list))
	// Some assignments are followed by a boost of an hour to ten days.
	b.Exec(t, `
		insert into tenant_plans (tenant_id, valid_from, plan, kind, month, per_month, overage, overage_value)
		select tenant_id, valid_from + interval '1 hour', plan, 'boost', 'some', 250, 'number', 30
		from tenant_plans where id % 5 = 0 and tenant_id > 2 and plan <> 'free'`)
	var periods []overagePeriod
	b.Rows(t, &periods, `
		select tenant_id, assignment, version, per_month, overage_limit, valid_from,
			coalesce(valid_to, '2100-01-01Z') as valid_to
		from quota_periods where tenant_id > 2 order by tenant_id, valid_from, assignment, version`)
	for _, p := range periods {
		b.periods[p.Tenant] = append(b.periods[p.Tenant], p)
	}
}

// use makes what each tenant uses in the month, one request after the other within its caps.
func (b *overageBooks) use(month time.Time) {
	for tenant, periods := range b.periods {
		instants := make([]time.Time, b.random.IntN(15))
		for i := range instants {
			instants[i] = b.instant(month)
		}
		slices.SortFunc(instants, time.Time.Compare)
		counter := int64(0)
		for _, at := range instants {
			p := periods[b.random.IntN(len(periods))]
			for _, other := range periods {
				if !at.Before(other.From) && at.Before(other.To) && b.random.IntN(40) > 0 {
					p = other
				}
			}
			b.disordered[tenant] = b.disordered[tenant] || at.Before(p.From) || !at.Before(p.To)
			n := 1 + b.random.Int64N(80)
			if p.PerMonth != nil {
				if p.Limit != nil {
					n = max(0, min(n, *p.PerMonth+*p.Limit-counter))
				}
				counter += n
			}
			if n > 0 {
				u := used{p.Tenant, at.Truncate(time.Hour), p.Assignment, p.Version, n, time.Time{}}
				b.coming[month] = append(b.coming[month], u)
			}
		}
	}
	b.random.Shuffle(len(b.coming[month]), func(i, j int) {
		all := b.coming[month]
		all[i], all[j] = all[j], all[i]
	})
}

// deliver records most of a month.
func (b *overageBooks) deliver(t *testing.T, month time.Time) {
	t.Helper()
	all := b.coming[month]
	n := len(all) * 9 / 10
	b.delivered[month], b.coming[month] = all[:n], all[n:]
	b.Exec(t, `
		insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
		select u.tenant_id, u.hour, 'key_' || lpad(u.tenant_id::text, 16, '0'), u.assignment, u.version,
			sum(u.admitted), 0
		from `+usedRows+` group by 1, 2, 3, 4, 5`, asJSON(t, b.delivered[month]))
}

// deliverLate records in another month half of what is missing of a closed one, and refunds.
func (b *overageBooks) deliverLate(t *testing.T, month, in time.Time) {
	t.Helper()
	all := b.coming[month]
	late := slices.Clone(all[:len(all)/2])
	b.coming[month] = all[len(late):]
	for range len(late) / 3 {
		i := b.random.IntN(len(b.delivered[month]))
		refund := b.delivered[month][i]
		refund.Admitted = -b.random.Int64N(refund.Admitted + 1)
		b.delivered[month][i].Admitted += refund.Admitted
		late = append(late, refund)
	}
	for i := range late {
		late[i].At = b.instant(in)
	}
	b.Exec(t, `
		insert into usage_late (month, tenant_id, hour, key_id, assignment, version, admitted, refused, server_id,
			arrived_at)
		select '`+in.Format(time.DateOnly)+`', u.tenant_id, u.hour, 'key_' || lpad(u.tenant_id::text, 16, '0'),
			u.assignment, u.version, u.admitted, 0, 's', u.at
		from `+usedRows, asJSON(t, late))
}

// instant is in one of twelve hours of the month after its second day: each hour costs a statement.
func (b *overageBooks) instant(month time.Time) time.Time {
	first := time.Date(month.Year(), month.Month(), 3, 0, 0, 0, 0, time.UTC)
	return first.Add(time.Duration(b.random.IntN(12))*51*time.Hour + time.Duration(b.random.IntN(3600))*time.Second)
}

// mark marks some assignments as void in that month, and restores others.
func (b *overageBooks) mark(t *testing.T, month time.Time) {
	t.Helper()
	var marks []used
	for _, periods := range b.periods {
		if p := periods[b.random.IntN(len(periods))]; b.random.IntN(3) == 0 {
			marks = append(marks, used{Assignment: p.Assignment, At: b.instant(month)})
		}
	}
	b.Exec(t, `
		update tenant_plans a set voided_at = case when a.voided_at is null then u.at end,
			void_reason = case when a.voided_at is null then 'a mistake' end
		from `+usedRows+` where a.id = u.assignment`, asJSON(t, marks))
}

// overages computes what is due from what is recorded.
func (b *overageBooks) overages(t *testing.T) map[billedAs]int64 {
	t.Helper()
	admitted := b.sums(t, `
		select tenant_id, to_char(hour at time zone 'UTC', 'YYYY-MM') as month, assignment, version,
			sum(admitted)::bigint as n
		from usage_recorded where tenant_id > 2 group by 1, 2, 3, 4`)
	var void []int64
	b.Rows(t, &void, `select id from tenant_plans where voided_at is not null`)
	due := map[billedAs]int64{}
	for tenant, periods := range b.periods {
		for _, month := range []string{"2025-10", "2025-11", "2025-12"} {
			var all []usage.PeriodUse
			for _, p := range periods {
				u := usage.PeriodUse{
					Month: p.month(), Admitted: admitted[billedAs{tenant, month, p.Assignment, p.Version}],
				}
				if slices.Contains(void, p.Assignment) {
					u.Month = plans.Month{}
				}
				all = append(all, u)
			}
			for i, n := range usage.Overages(all) {
				p := periods[i]
				if n != 0 {
					due[billedAs{tenant, month, p.Assignment, p.Version}] = n
				}
				assert.True(t, b.disordered[tenant] || p.Limit == nil || n <= *p.Limit, p, "has the overage", n)
			}
		}
	}
	return due
}

// sums returns the rows of a statement that are not 0.
func (b *overageBooks) sums(t *testing.T, statement string) map[billedAs]int64 {
	t.Helper()
	var rows []struct {
		Tenant     int64  `db:"tenant_id"`
		Month      string `db:"month"`
		Assignment int64  `db:"assignment"`
		Version    int64  `db:"version"`
		N          int64  `db:"n"`
	}
	b.Rows(t, &rows, statement)
	sums := map[billedAs]int64{}
	for _, r := range rows {
		if r.N != 0 {
			sums[billedAs{r.Tenant, r.Month, r.Assignment, r.Version}] = r.N
		}
	}
	return sums
}

// check compares everything that says an overage, at that time.
func (b *overageBooks) check(t *testing.T, now time.Time) {
	t.Helper()
	due, lines := b.overages(t), map[billedAs]int64{}
	for month := fixture.Oct; month.Before(fixture.Dec.AddDate(0, 2, 0)); month = month.AddDate(0, 1, 0) {
		for _, l := range b.Lines(t, month) {
			lines[billedAs{l.TenantID, cmp.Or(l.Corrects, l.Month), l.Assignment, l.Version}] += l.Overage
		}
		if _, err := b.Billing.Months.Get(t.Context(), month); err == nil {
			assert.Equal(t, b.Verify(t, month), "", month)
		}
	}
	wantSums(t, "lines", lines, due)
	wantSums(t, "usage_counted", b.sums(t, `
		select tenant_id, to_char(hour at time zone 'UTC', 'YYYY-MM') as month, assignment, version,
			sum(overage)::bigint as n
		from usage_counted where tenant_id > 2 group by 1, 2, 3, 4`), due)

	// An event has the hour of an assignment, under one version or several.
	ofEvents := map[billedAs]int64{}
	for of, n := range due {
		of.version = 0
		ofEvents[of] += n
	}
	wantSums(t, "events", b.send(t, "", now), ofEvents)
	// What is given back may be reduced by the next run only.
	b.send(t, "r", now)
	b.send(t, "r", now)
	wantSums(t, "sent events", b.sums(t, `
		select tenant_id, to_char(hour at time zone 'UTC', 'YYYY-MM') as month, assignment, 0 as version,
			sum(overage)::bigint as n
		from sent_events where receiver = 'r' group by 1, 2, 3`), ofEvents)
	if t.Failed() {
		t.Fatalf("at %v", now)
	}
}

// send sums the overage of the events until now.
func (b *overageBooks) send(t *testing.T, receiver string, now time.Time) map[billedAs]int64 {
	t.Helper()
	var s sink
	q := billing.EventQuery{From: fixture.Oct, To: now, Receiver: receiver, Format: events.CloudEvents}
	assert.NoError(t, b.Billing.Events.Send(t.Context(), fixture.Bill, q, &s))
	sums := map[billedAs]int64{}
	for _, e := range s.got {
		sums[billedAs{e.TenantID, e.Hour.Format("2006-01"), e.Assignment, 0}] += e.Overage
	}
	return sums
}

// wantSums names the first few differences.
func wantSums(t *testing.T, what string, got, want map[billedAs]int64) {
	t.Helper()
	said := 0
	for _, all := range []map[billedAs]int64{got, want} {
		for of := range all {
			if got[of] != want[of] && said < 5 {
				said++
				t.Errorf("%s: %+v has the overage %d, want %d", what, of, got[of], want[of])
			}
		}
	}
}

func asJSON(t *testing.T, list any) string {
	t.Helper()
	text, err := json.Marshal(list)
	assert.NoError(t, err)
	return string(text)
}

// counting takes what counts for a format, as petstorectl does.
type counting struct {
	*sink

	format events.Format
}

func (c counting) Write(page []events.Event) ([]events.Event, error) {
	return c.sink.Write(slices.DeleteFunc(slices.Clone(page), func(e events.Event) bool { return !c.format.Counts(e) }))
}

// TestOverageOfEvents: the overage of an hour goes to the reference that has the hour, is waived with
// it, moves with it, and changes with the hours before. A meter of its own gets it alone.
func TestOverageOfEvents(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	h.owner.MustExec(monthly)
	h.owner.MustExec(`
		select set_config('petstore.audited', 'on', false);
		insert into tenant_plans (tenant_id, plan, valid_from) values (2, 'small', '2026-11-20 13:00Z');
		select test_usage(2, '2026-11-20 14:00Z', 'key_0000000000000002', 'small', 140, 1);
		select test_usage(2, '2026-11-20 15:00Z', 'key_0000000000000002', 'small', 30, 0)`)
	want := func(q billing.EventQuery, want ...string) {
		t.Helper()
		var s sink
		err := h.Events.Send(t.Context(), fixture.Bill, q, counting{&s, q.Format})
		var got []string
		for _, e := range s.got {
			got = append(got, fmt.Sprintf("%s %d %d %d of %d #%d", e.BillingRef, e.Hour.Day(), e.Hour.Hour(),
				e.Overage, e.Admitted, e.Correction))
		}
		assert.Result(t, got, err, want, "events for", q.Receiver)
	}
	use := func(hour string, n int) {
		h.owner.MustExec(`select test_usage(2, $1::timestamptz, 'key_0000000000000002', 'small', $2, 0)`,
			"2026-11-20 "+hour+":00Z", n)
	}
	refer := func(ref string) { h.owner.MustExec(`update tenants set billing_ref = $1 where name = 'zoo'`, ref) }
	h.query.Tenant = "zoo"
	overage := h.query
	overage.Receiver, overage.Format = "stripe-overage", events.StripeOverage
	want(h.query, "cus_zoo 20 12 0 of 7 #0", "cus_zoo 20 14 0 of 140 #0", "cus_zoo 20 15 20 of 30 #0")
	want(overage, "cus_zoo 20 15 20 of 30 #0")

	// An hour before changes that of another reference: by 5 at most, as the number is.
	refer("cus_b")
	use("16", 4)
	want(overage, "cus_b 20 16 4 of 4 #0")
	use("14", 15)
	want(overage, "cus_b 20 14 5 of 155 #0", "cus_zoo 20 15 10 of 0 #1")
	want(overage)
	use("14", -20)
	want(overage, "cus_b 20 14 -5 of -20 #1", "cus_zoo 20 15 -15 of 0 #2")

	_, err := h.Events.Waive(t.Context(), fixture.Bill, "zoo", "stripe-overage", fixture.Noon.Add(3*time.Hour))
	assert.NoError(t, err)
	use("14", 15)
	want(overage, "cus_zoo 20 15 15 of 0 #3")
	use("14", 6)
	want(overage)
	moved, err := h.Events.Resend(t.Context(), fixture.Bill, billing.ResendQuery{
		Tenant: "zoo", Receiver: "stripe-overage", Since: fixture.November, Until: fixture.December,
		Now: fixture.Noon.AddDate(0, 0, 2),
	})
	assert.Result(t, moved.Hours, err, 1, "hours that were moved")
	want(overage)
	var sums string
	assert.NoError(t, h.owner.Get(&sums, `
		select string_agg(concat_ws(' ', receiver, billing_ref, n), ', ' order by receiver, billing_ref)
		from (select receiver, billing_ref, sum(overage) as n from sent_events group by 1, 2) s`))
	assert.Equal(t, sums, "stripe cus_zoo 20, stripe-overage cus_b 34, stripe-overage cus_zoo 0", "overage")
}

// TestLastReleaseClosesNoOverage: the last release's petstorectl, which knows no overage, seals no
// month of which some may be due. This one's does. What arrives late of a month that it has sealed is
// no overage.
func TestLastReleaseClosesNoOverage(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Exec(t, strings.Replace(agreedMonth, "2025-11-01Z", "2025-10-25Z", 1))
	b.Deliver(t, "s1", fixture.Dec, fixture.Used(4, fixture.Nov, 150, 0))
	billing := fixture.Connect(t, b.BillingURL)
	seal := func(month time.Time) error {
		t.Helper()
		b.Exec(t, `select begin_closing($1::date, '{}')`, month.Format(time.DateOnly))
		_, err := billing.ExecContext(t.Context(), `
			update usage_months set format = 'petstore-usage/1', tenants = 0, lines = 0, admitted = 0, refused = 0,
				sha256 = sha256('')
			where month = $1`, month)
		return err
	}
	assert.NoError(t, seal(fixture.Oct))
	b.Deliver(t, "s2", fixture.Dec, fixture.Used(4, fixture.Oct.AddDate(0, 0, 25), 130, 0))
	err := seal(fixture.Nov)
	assert.True(t, pgconn.IsConstraint(err, "usage_months_format"), "a month with overage", err)
	b.Close(t, fixture.Nov)
	var got []string
	for _, l := range b.Lines(t, fixture.Nov) {
		if l.TenantID == fixture.Acme {
			got = append(got, fmt.Sprintf("%s %d: %d", l.Corrects, l.Admitted, l.Overage))
		}
	}
	assert.DeepEqual(t, got, []string{" 150: 50", "2025-10 130: 0"})
}
