package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
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
		select u.tenant_id, key_id, plan, to_char(hour at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as hour, admitted, refused
		from usage_hourly u join tenant_plans a on a.id = u.assignment order by 1, 2, 3, 4`)
	return all
}

// count is a count under the only assignment of a tenant. Where each has one, they have the same numbers.
func count(tenantID int64, keyID string, at time.Time, admitted, refused int64) usage.Count {
	bucket := usage.Bucket{TenantID: tenantID, KeyID: keyID, Assignment: tenantID, Version: 1, Hour: at.Truncate(time.Hour).Unix()}
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
	writeUsage(t, db.api,
		usage.Batch{ServerID: "s1", Number: 1, Counts: []usage.Count{count(a.TenantID, a.ID, eleven, 3, 1), count(b.TenantID, b.ID, eleven, 1, 0)}},
		usage.Batch{ServerID: "s2", Number: 1, Counts: []usage.Count{count(a.TenantID, a.ID, eleven, 10, 0)}},
		usage.Batch{ServerID: "s1", Number: 2, Counts: []usage.Count{count(a.TenantID, a.ID, eleven, 0, 2), count(a.TenantID, a.ID, eleven.Add(time.Hour), 5, 0)}},
		usage.Batch{ServerID: "s1", Number: 3},
	)
	want := []usageRow{
		{a.TenantID, a.ID, plans.Pro, "2026-11-20 11:00", 13, 3},
		{a.TenantID, a.ID, plans.Pro, "2026-11-20 12:00", 5, 0},
		{b.TenantID, b.ID, plans.Pro, "2026-11-20 11:00", 1, 0},
	}
	assert.DeepEqual(t, recordedUsage(t, db), want, "usage")
}

// TestRefundsLowerTheirHour: a request that is refunded after it was recorded is taken back, but never more than is there, nor
// after a day.
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
		batch := usage.Batch{ServerID: "s1", Number: int64(i + 1), Counts: []usage.Count{count(k.TenantID, k.ID, step.at, step.admitted, 0)}}
		writeUsage(t, db.api, batch)
		got := db.text(t, `select admitted from usage_hourly where hour = date_trunc('hour', $1::timestamptz, 'UTC')`, step.at)
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

// TestMeterCountsOnceWhenRepliesAreLost loses the reply of each round trip in turn, that of the commit among them.
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
	if got := db.lastUsed(t, k.ID); !got.Equal(eleven) {
		t.Errorf("last used %v, want %v", got, eleven)
	}
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

// TestWriteUsageSendsNoNotice: a notice takes a lock that lets one transaction of the whole database commit at a time.
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
				b.LastUsed = append(b.LastUsed, usage.KeyUse{KeyID: k.ID, At: eleven.Add(time.Duration(n) * time.Second)})
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
	if want := int64(servers * batches * keys); sum != want {
		t.Errorf("recorded %d, want %d", sum, want)
	}
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

// TestWriteUsageNotesTheLastDay: with new rows of a later day, and then only; and tenants are inactive since their last hour.
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
		{[]usage.Count{count(a.TenantID, a.ID, eleven, 1, 0), count(b.TenantID, b.ID, eleven.Add(-day), 1, 0)}, "2026-11-20 2026-11-19"},
		{[]usage.Count{count(a.TenantID, a.ID, eleven.Add(-day), 1, 0), count(b.TenantID, b.ID, eleven.Add(time.Hour), 0, 1)}, "2026-11-20 2026-11-20"},
		{[]usage.Count{count(a.TenantID, a.ID, eleven.Add(13*time.Hour), 1, 0)}, "2026-11-21 2026-11-20"},
		{[]usage.Count{count(a.TenantID, a.ID, eleven.Add(13*time.Hour), 1, 0)}, "2026-11-21 2026-11-20"},
	} {
		number++
		writeUsage(t, db.api, usage.Batch{ServerID: "s1", Number: number, Counts: step.counts})
		if got := db.text(t, `select string_agg(last_day::text, ' ' order by tenant_id) from tenant_activity`); got != step.want {
			t.Errorf("batch %d: %s, want %s", number, got, step.want)
		}
	}
	if got := db.text(t, `select count(distinct xmin::text) from tenant_activity`); got != "2" {
		t.Errorf("rows were written by %s transactions", got)
	}
	for since, want := range map[time.Time]int{eleven.Truncate(time.Hour).Add(time.Hour): 0, eleven.Add(time.Hour): 1, eleven.Add(13 * time.Hour): 2} {
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
