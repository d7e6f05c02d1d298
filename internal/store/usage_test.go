package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/store/people"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
)

// usageRow is a row of usage_hourly.
type usageRow struct {
	TenantID          int64  `db:"tenant_id"`
	KeyID             string `db:"key_id"`
	Plan, Hour        string
	Admitted, Refused int64
}

func recordedUsage(t *testing.T, db meteredDB) []usageRow {
	t.Helper()
	var all []usageRow
	db.rows(t, &all, `
		select u.tenant_id, key_id, plan, to_char(hour at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as hour, admitted,
			refused
		from usage_hourly u join tenant_plans a on a.id = u.assignment order by 1, 2, 3, 4`)
	return all
}

// count is a count under the only assignment of a tenant. Where each has one, they have the same
// numbers.
func count(tenantID int64, keyID string, at time.Time, admitted, refused int64) usage.Count {
	bucket := usage.Bucket{
		TenantID:   tenantID,
		KeyID:      keyID,
		Assignment: tenantID,
		Version:    1,
		Hour:       at.Truncate(time.Hour).Unix(),
	}
	return usage.Count{Bucket: bucket, Admitted: admitted, Refused: refused}
}

func writeUsage(t *testing.T, db *store.DB, batches ...usage.Batch) {
	t.Helper()
	for _, b := range batches {
		assert.NoError(t, db.Usage.WriteUsage(t.Context(), b))
	}
}

var eleven = time.Date(2026, 11, 20, 11, 30, 0, 0, time.UTC)

func TestWriteUsageAdds(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	a, b := db.key(t, 1), db.key(t, 2)
	writeUsage(
		t,
		db.api,
		usage.Batch{
			ServerID: "s1",
			Number:   1,
			Counts:   []usage.Count{count(a.TenantID, a.ID, eleven, 3, 1), count(b.TenantID, b.ID, eleven, 1, 0)},
		},
		usage.Batch{ServerID: "s2", Number: 1, Counts: []usage.Count{count(a.TenantID, a.ID, eleven, 10, 0)}},
		usage.Batch{
			ServerID: "s1",
			Number:   2,
			Counts: []usage.Count{
				count(a.TenantID, a.ID, eleven, 0, 2),
				count(a.TenantID, a.ID, eleven.Add(time.Hour), 5, 0),
			},
		},
		usage.Batch{ServerID: "s1", Number: 3},
	)
	want := []usageRow{
		{a.TenantID, a.ID, plans.Pro, "2026-11-20 11:00", 13, 3},
		{a.TenantID, a.ID, plans.Pro, "2026-11-20 12:00", 5, 0},
		{b.TenantID, b.ID, plans.Pro, "2026-11-20 11:00", 1, 0},
	}
	assert.DeepEqual(t, recordedUsage(t, db), want, "usage")
}

// TestRefundsLowerTheirHour: a request that is refunded after it was recorded is taken back, but
// never more than is there, nor after a day.
func TestRefundsLowerTheirHour(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k := db.key(t, 1)
	now := time.Now()
	for i, step := range []struct {
		at             time.Time
		admitted, want int64
	}{
		{now, 5, 5},
		{now, -2, 3},
		{now, -4, 0},
		{now.Add(-50 * time.Hour), 5, 5},
		{now.Add(-50 * time.Hour), -2, 5},
		{now.Add(-time.Hour), -1, 0},
	} {
		batch := usage.Batch{
			ServerID: "s1",
			Number:   int64(i + 1),
			Counts:   []usage.Count{count(k.TenantID, k.ID, step.at, step.admitted, 0)},
		}
		writeUsage(t, db.api, batch)
		got := db.text(
			t,
			`select admitted from usage_hourly where hour = date_trunc('hour', $1::timestamptz, 'UTC')`,
			step.at,
		)
		assert.Equal(t, got, fmt.Sprint(step.want), "step", i, "admitted, want", step.want)
	}
}

func TestWriteUsageAddsABatchOnce(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k := db.key(t, 1)
	batch := func(number int64) usage.Batch {
		return usage.Batch{ServerID: "s1", Number: number, Counts: []usage.Count{count(k.TenantID, k.ID, eleven, 1, 0)}}
	}
	writeUsage(t, db.api, batch(7), batch(7), batch(6), batch(8), batch(7), batch(8))
	if got := recordedUsage(t, db); len(got) != 1 || got[0].Admitted != 2 {
		t.Errorf("recorded %+v, want two admitted", got)
	}
}

func TestWriteUsageAtOnceAddsABatchOnce(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k := db.key(t, 1)
	b := usage.Batch{ServerID: "s1", Number: 1, Counts: []usage.Count{count(k.TenantID, k.ID, eleven, 1, 0)}}
	atOnce(t, 8, 8, nil, func(int) error { return db.api.Usage.WriteUsage(t.Context(), b) })
	if got := recordedUsage(t, db); len(got) != 1 || got[0].Admitted != 1 {
		t.Errorf("recorded %+v, want one admitted", got)
	}
}

// TestMeterCountsOnceWhenRepliesAreLost loses the reply of each round trip in turn, that of the
// commit among them.
func TestMeterCountsOnceWhenRepliesAreLost(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k := db.key(t, 1)
	proxy := newBreakingProxy(t, db.APIURL)
	api := storetest.Open(t, proxy.url, store.Options{AsAPI: true})
	m := usage.NewMeter(api.Usage, usage.Options{ServerID: "s1", Log: zerolog.Nop()})
	counted := int64(0)
	for broke := true; broke; {
		m.Admitted(count(k.TenantID, k.ID, eleven, 0, 0).Bucket, eleven, 0, usage.Unlimited)
		counted++
		proxy.breakAt(int(counted), cutAnswer)
		err := m.Flush(t.Context())
		broke = proxy.broke()
		if err != nil && (!broke || !errors.Is(err, usage.ErrUnavailable)) {
			t.Fatalf("Flush = %v, a reply was lost: %v", err, broke)
		}
	}
	assert.True(t, counted >= 2, "no reply was lost")
	if got := recordedUsage(t, db); len(got) != 1 || got[0].Admitted != counted {
		t.Errorf("recorded %+v, want %d admitted", got, counted)
	}
}

func TestWriteUsageLeavesOutWhatIsNoMore(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k, gone := db.key(t, 1), db.key(t, 2)
	db.exec(t, `delete from api_keys where id = $1`, gone.ID)
	other := count(k.TenantID, k.ID, eleven, 1, 0)
	other.Assignment = 4711
	writeUsage(t, db.api, usage.Batch{
		ServerID: "s1", Number: 1,
		Counts: []usage.Count{
			count(gone.TenantID, gone.ID, eleven, 1, 0),
			count(k.TenantID, k.ID, eleven, 1, 0),
			count(gone.TenantID, k.ID, eleven, 1, 0),
			count(12345, "key_0000000000000000", eleven, 1, 0),
			other,
		},
		LastUsed: []usage.KeyUse{{KeyID: gone.ID, At: eleven}, {KeyID: k.ID, At: eleven}},
	})
	// What names no assignment of the tenant is counted under what was in force.
	want := []usageRow{{k.TenantID, k.ID, plans.Pro, "2026-11-20 11:00", 2, 0}}
	assert.DeepEqual(t, recordedUsage(t, db), want, "usage")
	got := db.lastUsed(t, k.ID)
	assert.True(t, got.Equal(eleven), "last used", got, "want", eleven)
}

func TestWriteUsageSetsLastUsedForward(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k := db.key(t, 1)
	for i, step := range []struct{ at, want time.Time }{
		{eleven, eleven},
		{eleven.Add(-time.Minute), eleven},
		{eleven.Add(time.Minute + 123*time.Microsecond), eleven.Add(time.Minute + 123*time.Microsecond)},
	} {
		writeUsage(t, db.api, usage.Batch{
			ServerID: "s1", Number: int64(i + 1), LastUsed: []usage.KeyUse{{KeyID: k.ID, At: step.at}},
		})
		if got := db.lastUsed(t, k.ID); !got.Equal(step.want) {
			t.Errorf("after a use at %v: last used %v, want %v", step.at, got, step.want)
		}
	}
}

// TestWriteUsageSendsNoNotice: a notice takes a lock that lets one transaction of the whole
// database commit at a time.
func TestWriteUsageSendsNoNotice(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k := db.key(t, 1)
	notices := db.listen(t)
	writeUsage(t, db.api, usage.Batch{
		ServerID: "s1", Number: 1, Counts: []usage.Count{count(k.TenantID, k.ID, eleven, 1, 0)},
		LastUsed: []usage.KeyUse{{KeyID: k.ID, At: eleven}},
	})
	db.exec(t, `select pg_notify('petstore_callers', 'end')`)
	assert.Equal(t, notices(t), "end", "notice")
}

func TestWriteUsageOfManyServersAtOnce(t *testing.T) {
	t.Parallel()
	const servers, batches, keys = 4, 25, 19
	db := newMeteredDB(t)
	ids := make([]meteredKey, keys)
	for i := range ids {
		ids[i] = db.key(t, i%3)
	}
	atOnce(t, servers, servers, nil, func(s int) error {
		for n := range batches {
			b := usage.Batch{ServerID: fmt.Sprintf("s%d", s), Number: int64(n + 1)}
			for i := range ids {
				// Each server lists the keys in an order of its own.
				k := ids[(i*(2*s+1)+n)%keys]
				b.Counts = append(b.Counts, count(k.TenantID, k.ID, eleven, 1, 0))
				b.LastUsed = append(
					b.LastUsed,
					usage.KeyUse{KeyID: k.ID, At: eleven.Add(time.Duration(n) * time.Second)},
				)
			}
			if err := db.api.Usage.WriteUsage(t.Context(), b); err != nil {
				return err
			}
		}
		return nil
	})
	var sum int64
	for _, r := range recordedUsage(t, db) {
		sum += r.Admitted
	}
	want := int64(servers * batches * keys)
	assert.Equal(t, sum, want, "recorded")
}

func TestUsedToday(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	a, b, c := db.key(t, 1), db.key(t, 2), db.key(t, 3)
	midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	writeUsage(t, db.api, usage.Batch{ServerID: "s1", Number: 1, Counts: []usage.Count{
		count(a.TenantID, a.ID, midnight.Add(-time.Hour), 100, 0),
		count(a.TenantID, a.ID, midnight, 1, 5),
		count(a.TenantID, a.ID, midnight.Add(23*time.Hour), 2, 0),
		count(a.TenantID, a.ID, midnight.Add(24*time.Hour), 100, 0),
		count(b.TenantID, b.ID, eleven, 7, 0),
		count(c.TenantID, c.ID, eleven, 0, 9),
	}})
	got, err := db.api.Usage.AdmittedOn(t.Context(), limits.DayAt(eleven))
	assert.NoError(t, err)
	assert.DeepEqual(t, got, map[int64]int64{a.TenantID: 3, b.TenantID: 7}, "used")
}

// TestWriteUsageNotesTheLastDay: with new rows of a later day, and then only; and tenants are
// inactive since their last hour.
func TestWriteUsageNotesTheLastDay(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	a, b := db.key(t, 1), db.key(t, 2)
	db.exec(t, `update tenants set created_at = '2026-01-01Z'`)
	day := 24 * time.Hour
	var number int64
	for _, step := range []struct {
		counts []usage.Count
		want   string
	}{
		{[]usage.Count{count(a.TenantID, a.ID, eleven, 1, 0), count(b.TenantID, b.ID, eleven.Add(-day), 1, 0)},
			"2026-11-20 2026-11-19"},
		{[]usage.Count{count(a.TenantID, a.ID, eleven.Add(-day), 1, 0),
			count(b.TenantID, b.ID, eleven.Add(time.Hour), 0, 1)}, "2026-11-20 2026-11-20"},
		{[]usage.Count{count(a.TenantID, a.ID, eleven.Add(13*time.Hour), 1, 0)}, "2026-11-21 2026-11-20"},
		{[]usage.Count{count(a.TenantID, a.ID, eleven.Add(13*time.Hour), 1, 0)}, "2026-11-21 2026-11-20"},
	} {
		number++
		writeUsage(t, db.api, usage.Batch{ServerID: "s1", Number: number, Counts: step.counts})
		if got := db.text(
			t,
			`select string_agg(last_day::text, ' ' order by tenant_id) from tenant_activity`,
		); got != step.want {
			t.Errorf("batch %d: %s, want %s", number, got, step.want)
		}
	}
	db.want(t, "2", `select count(distinct xmin::text) from tenant_activity`)
	for since, want := range map[time.Time]int{eleven.Truncate(time.Hour).Add(time.Hour): 0, eleven.Add(time.Hour): 1,
		eleven.Add(13 * time.Hour): 2} {
		list, err := store.Collect(db.staff.Tenants.List(t.Context(), people.TenantFilter{InactiveSince: since}))
		of := 0
		for _, tenant := range list {
			if tenant.ID == a.TenantID || tenant.ID == b.TenantID {
				of++
			}
		}
		assert.Result(t, of, err, want, "inactive since", since, "of the two")
	}
}

func TestUsageOfKey(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	a, b, other := db.key(t, 1), db.key(t, 1), db.key(t, 2)
	for _, row := range []struct {
		key      meteredKey
		hours    int
		admitted int64
	}{{a, -1, 1000}, {a, 0, 1}, {a, 1, 2}, {b, 0, 10}, {other, 0, 100}, {a, 2, 4000}} {
		db.exec(t, `select test_usage($1, $2, $3, 'pro', $4::bigint, $4::bigint * 2)`,
			row.key.TenantID, noon.Add(time.Duration(row.hours)*time.Hour), row.key.ID, row.admitted)
	}
	got, err := db.staff.Usage.OfKey(t.Context(), a.TenantID, a.ID, noon, noon.Add(2*time.Hour))
	want := billing.KeyUsage{Admitted: 3, Refused: 6, TenantAdmitted: 13, TenantRefused: 26}
	assert.Result(t, got, err, want)
	if got, err := db.staff.Usage.OfKey(
		t.Context(),
		a.TenantID,
		a.ID,
		noon.Add(50*time.Hour),
		noon.Add(60*time.Hour),
	); err != nil ||
		got != (billing.KeyUsage{}) {
		t.Errorf("of hours without any: %+v, %v", got, err)
	}
}

// recordHours records usage of a key of the tenant, as servers would.
func (o office) recordHours(t *testing.T, tenant plans.Tenant, key string, counts map[time.Time][2]int64) {
	t.Helper()
	for hour, n := range counts {
		o.exec(t, `select test_usage($1, $2, $3, $4, $5, $6)`, tenant.ID, hour, key, tenant.Plan, n[0], n[1])
	}
}

func TestEachDay(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	acme, zoo := o.tenant(t, "acme", plans.Pro), o.tenant(t, "zoo", plans.Free)
	first, _ := o.issue(t, "acme")
	second, _ := o.issue(t, "acme")
	other, _ := o.issue(t, "zoo")
	day := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	hour := func(n int) time.Time { return day.Add(time.Duration(n) * time.Hour) }
	o.recordHours(t, acme, first.ID, map[time.Time][2]int64{
		hour(-1): {
			9,
			9,
		},
		hour(0):       {100, 0},
		hour(7):       {60, 1},
		hour(24 + 23): {50, 0},
		hour(24 + 5):  {101, 0},
		hour(72):      {9, 9},
	})
	o.recordHours(t, acme, second.ID, map[time.Time][2]int64{hour(7): {40, 2}, hour(24 + 23): {51, 4}})
	o.recordHours(t, zoo, other.ID, map[time.Time][2]int64{hour(48): {7, 0}})
	type row struct {
		Tenant int64
		Day    usage.RecordedDay
	}
	want := []row{
		{
			acme.ID,
			usage.RecordedDay{Date: day, Requests: 203, Refused: 3, Busy: []usage.Hour{{At: hour(7), Requests: 103}}},
		},
		{acme.ID, usage.RecordedDay{
			Date: hour(24), Requests: 206, Refused: 4,
			Busy: []usage.Hour{{At: hour(24 + 5), Requests: 101}, {At: hour(24 + 23), Requests: 105}},
		}},
		{zoo.ID, usage.RecordedDay{Date: hour(48), Requests: 7}},
	}
	for _, c := range []struct {
		tenants []int64
		want    []row
	}{
		{nil, want}, {[]int64{acme.ID}, want[:2]}, {[]int64{}, nil},
	} {
		var got []row
		err := o.Usage.EachDay(
			t.Context(),
			billing.DaysQuery{From: day, To: hour(72), Tenants: c.tenants, Quiet: 100},
			func(id int64, d usage.RecordedDay) {
				got = append(got, row{id, d})
			},
		)
		assert.Result(t, got, err, c.want, "tenants", c.tenants)
	}
}

func TestUsageMonth(t *testing.T) {
	t.Parallel()
	o := newAcme(t)
	o.tenant(t, "zoo", plans.Business)
	acme, _ := o.issue(t, "acme")
	second, _ := o.issue(t, "acme")
	zoo, _ := o.issue(t, "zoo")
	o.used(t, acme, plans.Free, november.Add(-2*time.Hour), 1000, 1000)
	o.used(t, acme, plans.Free, november.Add(-time.Hour), 100, 1000)
	o.used(t, acme, plans.Free, november, 1, 10)
	o.used(t, acme, plans.Pro, november, 2, 20)
	o.used(t, second, plans.Pro, november.Add(23*time.Hour), 4, 40)
	o.used(t, second, plans.Pro, november.Add(49*time.Hour), 8, 80)
	o.used(t, second, plans.Pro, november.Add(50*time.Hour), 16, 160)
	o.used(t, zoo, plans.Business, november.Add(50*time.Hour), 1<<40, 1)
	day := func(n int, admitted, refused int64) usage.Day {
		return usage.Day{Date: november.AddDate(0, 0, n-1), Admitted: admitted, Refused: refused}
	}
	for name, test := range map[string]struct {
		tenant int64
		now    time.Time
		want   usage.Month
	}{
		"in its middle": {acme.TenantID, november.Add(51*time.Hour - 1), usage.Month{
			Days: []usage.Day{day(1, 7, 70), day(2, 0, 0), day(3, 24, 240)}, RateWindow: 24,
		}},
		"an hour later": {acme.TenantID, november.Add(51 * time.Hour), usage.Month{
			Days: []usage.Day{day(1, 7, 70), day(2, 0, 0), day(3, 24, 240)}, RateWindow: 16,
		}},
		"its first hour: what is recent began before it": {acme.TenantID, november, usage.Month{
			Days: []usage.Day{day(1, 7, 70)}, RateWindow: 100 + 7 + 8 + 16,
		}},
		"another tenant's": {zoo.TenantID, november.Add(51 * time.Hour), usage.Month{
			Days: []usage.Day{day(1, 0, 0), day(2, 0, 0), day(3, 1<<40, 1)}, RateWindow: 1 << 40,
		}},
		"nothing yet": {zoo.TenantID, december, usage.Month{
			Days: []usage.Day{{Date: december}},
		}},
	} {
		got, err := o.Usage.UsageMonth(t.Context(), test.tenant, test.now)
		assert.Result(t, got, err, test.want, name)
	}
}

// TestMonthReport: what a month is billed for, by day and key, with the corrections of earlier
// months. Keys of others are not in it.
func TestMonthReport(t *testing.T) {
	t.Parallel()
	o := newAcme(t)
	o.tenant(t, "zoo", plans.Business)
	acme, _ := o.issue(t, "acme")
	second, _ := o.issue(t, "acme")
	zoo, _ := o.issue(t, "zoo")
	o.used(t, acme, plans.Pro, november.Add(-time.Hour), 100, 1000)
	o.used(t, acme, plans.Pro, november, 1, 10)
	o.used(t, acme, plans.Pro, november.Add(23*time.Hour), 2, 20)
	o.used(t, second, plans.Pro, november.Add(49*time.Hour), 4, 40)
	o.used(t, second, plans.Pro, december, 8, 80)
	o.used(t, zoo, plans.Business, november, 1<<40, 1)
	connect(t, o.URL).MustExec(`
		insert into usage_late (month, tenant_id, hour, key_id, assignment, version, admitted, refused, server_id)
		select $1::date, $2::bigint, $1::date - n * interval '20 days', $3, a.id, 1, 5, 1, 's' from generate_series(1,
			3) n, tenant_plans a where a.tenant_id = $2`,
		november, acme.TenantID, second.ID)
	got, err := o.api.Usage.UsageReport(t.Context(), acme.TenantID, november, december)
	assert.NoError(t, err)
	sums := map[string][2]int64{}
	for _, k := range got.Keys {
		a, r := k.Month.Sum()
		sums[k.KeyID+k.Name] = [2]int64{a, r}
	}
	assert.DeepEqual(
		t,
		sums,
		map[string][2]int64{acme.ID + acme.Name: {3, 30}, second.ID + second.Name: {4, 40}},
		"by key",
	)
	if a, r := got.Sum(); a != 7 || r != 70 || len(got.Days) != 30 || got.Days[2].Admitted != 4 {
		t.Errorf("%d and %d on %d days, want 7 and 70 on 30: %+v", a, r, len(got.Days), got.Days)
	}
	want := []usage.Correction{
		{
			Month:    november.AddDate(0, -2, 0),
			Admitted: 10,
			Refused:  2,
		},
		{Month: november.AddDate(0, -1, 0), Admitted: 5, Refused: 1},
	}
	assert.DeepEqual(t, got.Corrections, want, "corrections")
	if none, err := o.api.Usage.UsageReport(
		t.Context(),
		acme.TenantID,
		november.AddDate(-20, 0, 0),
		december,
	); err != nil || len(none.Keys) > 0 ||
		len(none.Days) != 30 {
		t.Errorf("a month without usage: %v, %+v", err, none)
	}
}

var (
	november = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	december = november.AddDate(0, 1, 0)
)

func (o office) used(t *testing.T, k keys.Key, plan string, hour time.Time, admitted, refused int64) {
	t.Helper()
	o.exec(t, `select test_usage($1, $2, $3, $4, $5, $6)`,
		k.TenantID, hour, k.ID, plan, admitted, refused)
}
