package billing_test

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
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
)

func TestWriteUsageAdds(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	a, b := db.Key(t, 1), db.Key(t, 2)
	fixture.WriteUsage(
		t,
		db.API,
		usage.Batch{
			ServerID: "s1",
			Number:   1,
			Counts: []usage.Count{
				fixture.Count(a.TenantID, a.ID, fixture.Eleven, 3, 1),
				fixture.Count(b.TenantID, b.ID, fixture.Eleven, 1, 0),
			},
		},
		usage.Batch{
			ServerID: "s2",
			Number:   1,
			Counts:   []usage.Count{fixture.Count(a.TenantID, a.ID, fixture.Eleven, 10, 0)},
		},
		usage.Batch{
			ServerID: "s1",
			Number:   2,
			Counts: []usage.Count{
				fixture.Count(a.TenantID, a.ID, fixture.Eleven, 0, 2),
				fixture.Count(a.TenantID, a.ID, fixture.Eleven.Add(time.Hour), 5, 0),
			},
		},
		usage.Batch{ServerID: "s1", Number: 3},
	)
	want := []fixture.UsageRow{
		{TenantID: a.TenantID, KeyID: a.ID, Plan: plans.Pro, Hour: "2026-11-20 11:00", Admitted: 13, Refused: 3},
		{TenantID: a.TenantID, KeyID: a.ID, Plan: plans.Pro, Hour: "2026-11-20 12:00", Admitted: 5, Refused: 0},
		{TenantID: b.TenantID, KeyID: b.ID, Plan: plans.Pro, Hour: "2026-11-20 11:00", Admitted: 1, Refused: 0},
	}
	assert.DeepEqual(t, fixture.RecordedUsage(t, db), want, "usage")
}

// TestRefundsLowerTheirHour: a request that is refunded after it was recorded is taken back, but
// never more than is there, nor after a day.
func TestRefundsLowerTheirHour(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k := db.Key(t, 1)
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
			Counts:   []usage.Count{fixture.Count(k.TenantID, k.ID, step.at, step.admitted, 0)},
		}
		fixture.WriteUsage(t, db.API, batch)
		got := db.Text(
			t,
			`select admitted from usage_hourly where hour = date_trunc('hour', $1::timestamptz, 'UTC')`,
			step.at,
		)
		assert.Equal(t, got, fmt.Sprint(step.want), "step", i, "admitted, want", step.want)
	}
}

func TestWriteUsageAddsABatchOnce(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k := db.Key(t, 1)
	batch := func(number int64) usage.Batch {
		return usage.Batch{
			ServerID: "s1",
			Number:   number,
			Counts:   []usage.Count{fixture.Count(k.TenantID, k.ID, fixture.Eleven, 1, 0)},
		}
	}
	fixture.WriteUsage(t, db.API, batch(7), batch(7), batch(6), batch(8), batch(7), batch(8))
	if got := fixture.RecordedUsage(t, db); len(got) != 1 || got[0].Admitted != 2 {
		t.Errorf("recorded %+v, want two admitted", got)
	}
}

func TestWriteUsageAtOnceAddsABatchOnce(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k := db.Key(t, 1)
	b := usage.Batch{
		ServerID: "s1",
		Number:   1,
		Counts:   []usage.Count{fixture.Count(k.TenantID, k.ID, fixture.Eleven, 1, 0)},
	}
	fixture.AtOnce(t, 8, 8, nil, func(int) error { return db.API.Usage.WriteUsage(t.Context(), b) })
	if got := fixture.RecordedUsage(t, db); len(got) != 1 || got[0].Admitted != 1 {
		t.Errorf("recorded %+v, want one admitted", got)
	}
}

// TestMeterCountsOnceWhenRepliesAreLost loses the reply of each round trip in turn, that of the
// commit among them.
func TestMeterCountsOnceWhenRepliesAreLost(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k := db.Key(t, 1)
	proxy := fixture.NewBreakingProxy(t, db.APIURL)
	api := storetest.Open(t, proxy.URL, store.Options{AsAPI: true})
	m := usage.NewMeter(api.Usage, usage.Options{ServerID: "s1", Log: zerolog.Nop()})
	counted := int64(0)
	for broke := true; broke; {
		m.Admitted(fixture.Count(k.TenantID, k.ID, fixture.Eleven, 0, 0).Bucket, fixture.Eleven, 0, usage.Unlimited)
		counted++
		proxy.BreakAt(int(counted), fixture.CutAnswer)
		err := m.Flush(t.Context())
		broke = proxy.Broke()
		if err != nil && (!broke || !errors.Is(err, usage.ErrUnavailable)) {
			t.Fatalf("Flush = %v, a reply was lost: %v", err, broke)
		}
	}
	assert.True(t, counted >= 2, "no reply was lost")
	if got := fixture.RecordedUsage(t, db); len(got) != 1 || got[0].Admitted != counted {
		t.Errorf("recorded %+v, want %d admitted", got, counted)
	}
}

func lastUsed(t *testing.T, db fixture.MeteredDB, keyID string) time.Time {
	t.Helper()
	var at []time.Time
	db.Rows(t, &at, `select last_used_at from api_keys where id = $1 and last_used_at is not null`, keyID)
	if len(at) != 1 {
		t.Fatalf("key %s was not used", keyID)
	}
	return at[0]
}

func TestWriteUsageLeavesOutWhatIsNoMore(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k, gone := db.Key(t, 1), db.Key(t, 2)
	db.Exec(t, `delete from api_keys where id = $1`, gone.ID)
	other := fixture.Count(k.TenantID, k.ID, fixture.Eleven, 1, 0)
	other.Assignment = 4711
	fixture.WriteUsage(t, db.API, usage.Batch{
		ServerID: "s1", Number: 1,
		Counts: []usage.Count{
			fixture.Count(gone.TenantID, gone.ID, fixture.Eleven, 1, 0),
			fixture.Count(k.TenantID, k.ID, fixture.Eleven, 1, 0),
			fixture.Count(gone.TenantID, k.ID, fixture.Eleven, 1, 0),
			fixture.Count(12345, "key_0000000000000000", fixture.Eleven, 1, 0),
			other,
		},
		LastUsed: []usage.KeyUse{{KeyID: gone.ID, At: fixture.Eleven}, {KeyID: k.ID, At: fixture.Eleven}},
	})
	// What names no assignment of the tenant is counted under what was in force.
	want := []fixture.UsageRow{
		{TenantID: k.TenantID, KeyID: k.ID, Plan: plans.Pro, Hour: "2026-11-20 11:00", Admitted: 2, Refused: 0},
	}
	assert.DeepEqual(t, fixture.RecordedUsage(t, db), want, "usage")
	got := lastUsed(t, db, k.ID)
	assert.True(t, got.Equal(fixture.Eleven), "last used", got, "want", fixture.Eleven)
}

func TestWriteUsageSetsLastUsedForward(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k := db.Key(t, 1)
	for i, step := range []struct{ at, want time.Time }{
		{fixture.Eleven, fixture.Eleven},
		{fixture.Eleven.Add(-time.Minute), fixture.Eleven},
		{
			fixture.Eleven.Add(time.Minute + 123*time.Microsecond),
			fixture.Eleven.Add(time.Minute + 123*time.Microsecond),
		},
	} {
		fixture.WriteUsage(t, db.API, usage.Batch{
			ServerID: "s1", Number: int64(i + 1), LastUsed: []usage.KeyUse{{KeyID: k.ID, At: step.at}},
		})
		if got := lastUsed(t, db, k.ID); !got.Equal(step.want) {
			t.Errorf("after a use at %v: last used %v, want %v", step.at, got, step.want)
		}
	}
}

// TestWriteUsageSendsNoNotice: a notice takes a lock that lets one transaction of the whole
// database commit at a time.
func TestWriteUsageSendsNoNotice(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k := db.Key(t, 1)
	notices := db.Listen(t)
	fixture.WriteUsage(t, db.API, usage.Batch{
		ServerID: "s1", Number: 1, Counts: []usage.Count{fixture.Count(k.TenantID, k.ID, fixture.Eleven, 1, 0)},
		LastUsed: []usage.KeyUse{{KeyID: k.ID, At: fixture.Eleven}},
	})
	db.Exec(t, `select pg_notify('petstore_callers', 'end')`)
	assert.Equal(t, notices(t), "end", "notice")
}

func TestWriteUsageOfManyServersAtOnce(t *testing.T) {
	t.Parallel()
	const servers, batches, keys = 4, 25, 19
	db := fixture.NewMeteredDB(t)
	ids := make([]fixture.MeteredKey, keys)
	for i := range ids {
		ids[i] = db.Key(t, i%3)
	}
	fixture.AtOnce(t, servers, servers, nil, func(s int) error {
		for n := range batches {
			b := usage.Batch{ServerID: fmt.Sprintf("s%d", s), Number: int64(n + 1)}
			for i := range ids {
				// Each server lists the keys in an order of its own.
				k := ids[(i*(2*s+1)+n)%keys]
				b.Counts = append(b.Counts, fixture.Count(k.TenantID, k.ID, fixture.Eleven, 1, 0))
				b.LastUsed = append(
					b.LastUsed,
					usage.KeyUse{KeyID: k.ID, At: fixture.Eleven.Add(time.Duration(n) * time.Second)},
				)
			}
			if err := db.API.Usage.WriteUsage(t.Context(), b); err != nil {
				return err
			}
		}
		return nil
	})
	var sum int64
	for _, r := range fixture.RecordedUsage(t, db) {
		sum += r.Admitted
	}
	want := int64(servers * batches * keys)
	assert.Equal(t, sum, want, "recorded")
}

func TestUsedToday(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	a, b, c := db.Key(t, 1), db.Key(t, 2), db.Key(t, 3)
	midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	fixture.WriteUsage(t, db.API, usage.Batch{ServerID: "s1", Number: 1, Counts: []usage.Count{
		fixture.Count(a.TenantID, a.ID, midnight.Add(-time.Hour), 100, 0),
		fixture.Count(a.TenantID, a.ID, midnight, 1, 5),
		fixture.Count(a.TenantID, a.ID, midnight.Add(23*time.Hour), 2, 0),
		fixture.Count(a.TenantID, a.ID, midnight.Add(24*time.Hour), 100, 0),
		fixture.Count(b.TenantID, b.ID, fixture.Eleven, 7, 0),
		fixture.Count(c.TenantID, c.ID, fixture.Eleven, 0, 9),
	}})
	got, err := db.API.Usage.AdmittedOn(t.Context(), limits.DayAt(fixture.Eleven))
	assert.NoError(t, err)
	assert.DeepEqual(t, got, map[int64]int64{a.TenantID: 3, b.TenantID: 7}, "used")
}

// TestWriteUsageNotesTheLastDay: with new rows of a later day, and then only; and tenants are
// inactive since their last hour.
func TestWriteUsageNotesTheLastDay(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	a, b := db.Key(t, 1), db.Key(t, 2)
	db.Exec(t, `update tenants set created_at = '2026-01-01Z'`)
	day := 24 * time.Hour
	var number int64
	for _, step := range []struct {
		counts []usage.Count
		want   string
	}{
		{[]usage.Count{fixture.Count(a.TenantID, a.ID, fixture.Eleven, 1, 0),
			fixture.Count(b.TenantID, b.ID, fixture.Eleven.Add(-day), 1, 0)}, "2026-11-20 2026-11-19"},
		{[]usage.Count{fixture.Count(a.TenantID, a.ID, fixture.Eleven.Add(-day), 1, 0),
			fixture.Count(b.TenantID, b.ID, fixture.Eleven.Add(time.Hour), 0, 1)}, "2026-11-20 2026-11-20"},
		{[]usage.Count{fixture.Count(a.TenantID, a.ID, fixture.Eleven.Add(13*time.Hour), 1, 0)},
			"2026-11-21 2026-11-20"},
		{[]usage.Count{fixture.Count(a.TenantID, a.ID, fixture.Eleven.Add(13*time.Hour), 1, 0)},
			"2026-11-21 2026-11-20"},
	} {
		number++
		fixture.WriteUsage(t, db.API, usage.Batch{ServerID: "s1", Number: number, Counts: step.counts})
		if got := db.Text(
			t,
			`select string_agg(last_day::text, ' ' order by tenant_id) from tenant_activity`,
		); got != step.want {
			t.Errorf("batch %d: %s, want %s", number, got, step.want)
		}
	}
	db.Want(t, "2", `select count(distinct xmin::text) from tenant_activity`)
	for since, want := range map[time.Time]int{
		fixture.Eleven.Truncate(time.Hour).Add(time.Hour): 0,
		fixture.Eleven.Add(time.Hour):                     1,
		fixture.Eleven.Add(13 * time.Hour):                2,
	} {
		list, err := store.Collect(db.Staff.Tenants.List(t.Context(), tenancy.TenantFilter{InactiveSince: since}))
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
	db := fixture.NewMeteredDB(t)
	a, b, other := db.Key(t, 1), db.Key(t, 1), db.Key(t, 2)
	for _, row := range []struct {
		key      fixture.MeteredKey
		hours    int
		admitted int64
	}{{a, -1, 1000}, {a, 0, 1}, {a, 1, 2}, {b, 0, 10}, {other, 0, 100}, {a, 2, 4000}} {
		db.Exec(t, `select test_usage($1, $2, $3, 'pro', $4::bigint, $4::bigint * 2)`,
			row.key.TenantID, fixture.Noon.Add(time.Duration(row.hours)*time.Hour), row.key.ID, row.admitted)
	}
	got, err := db.Staff.Usage.OfKey(t.Context(), a.TenantID, a.ID, fixture.Noon, fixture.Noon.Add(2*time.Hour))
	want := billing.KeyUsage{Admitted: 3, Refused: 6, TenantAdmitted: 13, TenantRefused: 26}
	assert.Result(t, got, err, want)
	if got, err := db.Staff.Usage.OfKey(
		t.Context(),
		a.TenantID,
		a.ID,
		fixture.Noon.Add(50*time.Hour),
		fixture.Noon.Add(60*time.Hour),
	); err != nil ||
		got != (billing.KeyUsage{}) {
		t.Errorf("of hours without any: %+v, %v", got, err)
	}
}

// recordHours records usage of a key of the tenant, as servers would.
func recordHours(t *testing.T, o fixture.Office, tenant plans.Tenant, key string, counts map[time.Time][2]int64) {
	t.Helper()
	for hour, n := range counts {
		o.Exec(t, `select test_usage($1, $2, $3, $4, $5, $6)`, tenant.ID, hour, key, tenant.Plan, n[0], n[1])
	}
}

func TestEachDay(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	acme, zoo := o.Tenant(t, "acme", plans.Pro), o.Tenant(t, "zoo", plans.Free)
	first, _ := o.Issue(t, "acme")
	second, _ := o.Issue(t, "acme")
	other, _ := o.Issue(t, "zoo")
	day := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	hour := func(n int) time.Time { return day.Add(time.Duration(n) * time.Hour) }
	recordHours(t, o, acme, first.ID, map[time.Time][2]int64{
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
	recordHours(t, o, acme, second.ID, map[time.Time][2]int64{hour(7): {40, 2}, hour(24 + 23): {51, 4}})
	recordHours(t, o, zoo, other.ID, map[time.Time][2]int64{hour(48): {7, 0}})
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
	o := fixture.NewAcme(t)
	o.Tenant(t, "zoo", plans.Business)
	acme, _ := o.Issue(t, "acme")
	second, _ := o.Issue(t, "acme")
	zoo, _ := o.Issue(t, "zoo")
	useHour(t, o, acme, plans.Free, fixture.November.Add(-2*time.Hour), 1000, 1000)
	useHour(t, o, acme, plans.Free, fixture.November.Add(-time.Hour), 100, 1000)
	useHour(t, o, acme, plans.Free, fixture.November, 1, 10)
	useHour(t, o, acme, plans.Pro, fixture.November, 2, 20)
	useHour(t, o, second, plans.Pro, fixture.November.Add(23*time.Hour), 4, 40)
	useHour(t, o, second, plans.Pro, fixture.November.Add(49*time.Hour), 8, 80)
	useHour(t, o, second, plans.Pro, fixture.November.Add(50*time.Hour), 16, 160)
	useHour(t, o, zoo, plans.Business, fixture.November.Add(50*time.Hour), 1<<40, 1)
	day := func(n int, admitted, refused int64) usage.Day {
		return usage.Day{Date: fixture.November.AddDate(0, 0, n-1), Admitted: admitted, Refused: refused}
	}
	for name, test := range map[string]struct {
		tenant int64
		now    time.Time
		want   usage.Month
	}{
		"in its middle": {acme.TenantID, fixture.November.Add(51*time.Hour - 1), usage.Month{
			Days: []usage.Day{day(1, 7, 70), day(2, 0, 0), day(3, 24, 240)}, RateWindow: 24,
			Week: 1131, WeekStart: fixture.November.Add(-2 * time.Hour),
		}},
		"an hour later": {acme.TenantID, fixture.November.Add(51 * time.Hour), usage.Month{
			Days: []usage.Day{day(1, 7, 70), day(2, 0, 0), day(3, 24, 240)}, RateWindow: 16,
			Week: 1131, WeekStart: fixture.November.Add(-2 * time.Hour),
		}},
		"its first hour: what is recent began before it": {acme.TenantID, fixture.November, usage.Month{
			Days: []usage.Day{day(1, 7, 70)}, RateWindow: 100 + 7 + 8 + 16,
			Week: 1131, WeekStart: fixture.November.Add(-2 * time.Hour),
		}},
		"a week later": {acme.TenantID, fixture.November.Add(7*24*time.Hour - 1), usage.Month{
			Days: []usage.Day{day(1, 7, 70), day(2, 0, 0), day(3, 24, 240), day(4, 0, 0), day(5, 0, 0),
				day(6, 0, 0), day(7, 0, 0)}, Week: 131, WeekStart: fixture.November.Add(-time.Hour),
		}},
		"another tenant's": {zoo.TenantID, fixture.November.Add(51 * time.Hour), usage.Month{
			Days: []usage.Day{day(1, 0, 0), day(2, 0, 0), day(3, 1<<40, 1)}, RateWindow: 1 << 40,
			Week: 1 << 40, WeekStart: fixture.November.Add(50 * time.Hour),
		}},
		"nothing yet": {zoo.TenantID, fixture.December, usage.Month{
			Days: []usage.Day{{Date: fixture.December}},
		}},
	} {
		got, err := o.API.Usage.UsageMonth(t.Context(), test.tenant, test.now)
		got.Periods = nil
		assert.Result(t, got, err, test.want, name)
	}
}

// TestMonthReport: what a month is billed for, by day and key, with the corrections of earlier
// months. Keys of others are not in it.
func TestMonthReport(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	o.Tenant(t, "zoo", plans.Business)
	acme, _ := o.Issue(t, "acme")
	second, _ := o.Issue(t, "acme")
	zoo, _ := o.Issue(t, "zoo")
	useHour(t, o, acme, plans.Pro, fixture.November.Add(-time.Hour), 100, 1000)
	useHour(t, o, acme, plans.Pro, fixture.November, 1, 10)
	useHour(t, o, acme, plans.Pro, fixture.November.Add(23*time.Hour), 2, 20)
	useHour(t, o, second, plans.Pro, fixture.November.Add(49*time.Hour), 4, 40)
	useHour(t, o, second, plans.Pro, fixture.December, 8, 80)
	useHour(t, o, zoo, plans.Business, fixture.November, 1<<40, 1)
	fixture.Connect(t, o.URL).MustExec(`
		insert into usage_late (month, tenant_id, hour, key_id, assignment, version, admitted, refused, server_id)
		select $1::date, $2::bigint, $1::date - n * interval '20 days', $3, a.id, 1, 5, 1, 's' from generate_series(1,
			3) n, tenant_plans a where a.tenant_id = $2`,
		fixture.November, acme.TenantID, second.ID)
	got, err := o.API.Usage.UsageReport(t.Context(), acme.TenantID, fixture.November, fixture.December)
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
			Month:    fixture.November.AddDate(0, -2, 0),
			Admitted: 10,
			Refused:  2,
		},
		{Month: fixture.November.AddDate(0, -1, 0), Admitted: 5, Refused: 1},
	}
	assert.DeepEqual(t, got.Corrections, want, "corrections")
	if none, err := o.API.Usage.UsageReport(
		t.Context(),
		acme.TenantID,
		fixture.November.AddDate(-20, 0, 0),
		fixture.December,
	); err != nil || len(none.Keys) > 0 ||
		len(none.Days) != 30 {
		t.Errorf("a month without usage: %v, %+v", err, none)
	}
}

func useHour(t *testing.T, o fixture.Office, k keys.Key, plan string, hour time.Time, admitted, refused int64) {
	t.Helper()
	o.Exec(t, `select test_usage($1, $2, $3, $4, $5, $6)`,
		k.TenantID, hour, k.ID, plan, admitted, refused)
}
