package admin_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/usage"
)

// TestOwnFailedRequests: every page of every filter, whatever its size, together has each of the
// tenant's failed requests once, the newest first, and none of another tenant's or a stranger's.
func TestOwnFailedRequests(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k, second, other := db.Key(t, 1), db.Key(t, 1), db.Key(t, 2)
	var batch []usage.FailedRequest
	for n := range 30 {
		f := refusal([]fixture.MeteredKey{k, second, other}[n%3], "a", n)
		if n%4 == 0 {
			f.Status, f.Code = 404, []string{"pet_not_found", "order_not_found"}[n%8/4]
		}
		// Six of each tenant's failed in one microsecond.
		if n >= 9 && n < 18 {
			f.At = fixture.Noon.Add(9 * time.Second)
		}
		batch = append(batch, f)
	}
	stranger := batch[0]
	stranger.TenantID, stranger.KeyID, stranger.Number = 0, "", 99
	assert.NoError(t, db.API.FailedRequests.WriteFailed(t.Context(), append(slices.Clone(batch), stranger)))
	for name, test := range map[string]struct {
		page usage.FailedPage
		has  func(f usage.FailedRequest) bool
	}{
		"all": {usage.FailedPage{}, func(usage.FailedRequest) bool { return true }},
		"a key": {usage.FailedPage{KeyID: second.ID},
			func(f usage.FailedRequest) bool { return f.KeyID == second.ID }},
		"a code": {usage.FailedPage{Kinds: kinds(404, "pet_not_found")},
			func(f usage.FailedRequest) bool { return f.Code == "pet_not_found" }},
		"codes": {usage.FailedPage{Kinds: kinds(404, "order_not_found", "x", "pet_not_found")},
			func(f usage.FailedRequest) bool { return f.Status == 404 }},
		"no code": {usage.FailedPage{Kinds: kinds(404)}, func(usage.FailedRequest) bool { return false }},
		"all three": {usage.FailedPage{KeyID: k.ID, Kinds: kinds(429, "rate_limit_exceeded", "x")},
			func(f usage.FailedRequest) bool { return f.KeyID == k.ID && f.Status == 429 }},
		"other code": {usage.FailedPage{Kinds: kinds(429, "pet_not_found")},
			func(usage.FailedRequest) bool { return false }},
		"a time": {
			usage.FailedPage{Since: fixture.Noon.Add(9 * time.Second), Until: fixture.Noon.Add(20 * time.Second)},
			func(f usage.FailedRequest) bool {
				return !f.At.Before(fixture.Noon.Add(9*time.Second)) && f.At.Before(fixture.Noon.Add(20*time.Second))
			}},
		"another's key": {usage.FailedPage{KeyID: other.ID}, func(usage.FailedRequest) bool { return false }},
	} {
		var want []string
		newest := slices.Clone(batch)
		slices.SortFunc(newest, func(a, b usage.FailedRequest) int { return int(b.Cursor() - a.Cursor()) })
		for _, f := range newest {
			if f.TenantID == k.TenantID && test.has(f) {
				want = append(want, f.RequestID)
			}
		}
		for _, limit := range []int{1, 4, 100} {
			p, more := test.page, true
			p.Limit = limit
			if p.Until.IsZero() {
				p.Until = fixture.Noon.Add(time.Hour)
			}
			var got []string
			for more && len(got) <= len(batch) {
				var list []usage.FailedRequest
				var err error
				list, more, err = db.API.FailedRequests.ListFailed(t.Context(), k.TenantID, p)
				assert.NoError(t, err, name)
				assert.True(
					t,
					len(list) == limit || !more,
					name,
					len(list),
					"on a page of",
					limit,
					"with more to follow",
				)
				for _, f := range list {
					got, p.After = append(got, f.RequestID), f.Cursor()
				}
			}
			assert.DeepEqual(t, got, want, name, "in pages of", limit)
		}
	}
}

// kinds are that status with each of the codes.
func kinds(status int, codes ...string) []usage.FailedKind {
	all := []usage.FailedKind{}
	for _, c := range codes {
		all = append(all, usage.FailedKind{Status: status, Code: c})
	}
	return all
}

// TestFailedRequestInDetail: what each key used of the window, by its minute while that is
// recorded, or else by the hour; the ban that was lifted, and the one that is in force. Another
// tenant finds nothing.
func TestFailedRequestInDetail(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k, second, other := db.Key(t, 1), db.Key(t, 1), db.Key(t, 2)
	minute, day := refusal(k, "a", 1), refusal(k, "a", 2)
	day.Window, day.Code, day.Reset = "day", "daily_quota_exceeded", fixture.Noon.Add(12*time.Hour).Unix()
	month := refusal(k, "a", 9)
	month.Window, month.Code = "month", "monthly_quota_exceeded"
	first := time.Date(fixture.Noon.Year(), fixture.Noon.Month(), 1, 0, 0, 0, 0, time.UTC)
	month.Reset = first.AddDate(0, 1, 0).Unix()
	ofKey, missing, banned := refusal(k, "a", 3), notFound(k, "a", 4), notFound(k, "a", 5)
	ofKey.Window = "key"
	banned.Status, banned.Code, banned.Reset = 429, "key_banned", fixture.Noon.Add(time.Hour).Unix()
	assert.NoError(
		t,
		db.API.FailedRequests.WriteFailed(
			t.Context(),
			[]usage.FailedRequest{minute, day, month, ofKey, missing, banned},
		),
	)
	// The minute of the refusals begins at noon.
	number := fixture.Noon.Unix() / 60
	hour := func(key fixture.MeteredKey, at time.Time, admitted, refused, minute, inMinute, inPrevious int64) {
		db.Exec(
			t,
			`insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused, minute,
				in_minute, in_previous)
			select $1, $2, $3, min(id), 1, $4, $5, $6, $7, $8 from tenant_plans where tenant_id = $1`,
			key.TenantID,
			at,
			key.ID,
			admitted,
			refused,
			minute,
			inMinute,
			inPrevious,
		)
	}
	hour(k, fixture.Noon, 100, 7, number, 40, 3)
	hour(second, fixture.Noon, 300, 0, number+1, 9, 260)
	hour(second, fixture.Noon.Add(-5*time.Hour), 50, 1, number-300, 50, 0)
	hour(other, fixture.Noon, 999, 9, number, 999, 0)
	get := func(id string) usage.FailedDetail {
		t.Helper()
		got, err := db.API.FailedRequests.GetFailed(
			t.Context(),
			k.TenantID,
			id,
			fixture.Noon,
			fixture.Noon.Add(time.Hour),
		)
		assert.NoError(t, err, id)
		return got
	}
	hours := []usage.Hour{
		{At: fixture.Noon.Add(-5 * time.Hour), Requests: 51, Refused: 1},
		{At: fixture.Noon, Requests: 407, Refused: 7},
	}
	assert.DeepEqual(t, inUTC(get("a-1")), usage.FailedDetail{
		FailedRequest: minute,
		Hours:         hours,
		RefusedBy: &usage.RefusingWindow{
			Name:  minute.Window,
			Limit: 300,
			From:  fixture.Noon,
			To:    fixture.Noon.Add(time.Minute),
			Used:  []usage.UsedByKey{{ID: second.ID, Admitted: 260}, {ID: k.ID, Admitted: 40}},
		},
	}, "a minute that is recorded")
	assert.DeepEqual(t, inUTC(get("a-2")), usage.FailedDetail{
		FailedRequest: day,
		Hours:         hours,
		RefusedBy: &usage.RefusingWindow{
			Name:  day.Window,
			Limit: 300,
			From:  fixture.Noon.Add(-12 * time.Hour),
			To:    fixture.Noon.Add(12 * time.Hour),
			Used:  []usage.UsedByKey{{ID: second.ID, Admitted: 350}, {ID: k.ID, Admitted: 100}},
		},
	}, "a day")
	assert.DeepEqual(t, inUTC(get("a-9")), usage.FailedDetail{
		FailedRequest: month,
		Hours:         hours,
		RefusedBy: &usage.RefusingWindow{
			Name:  month.Window,
			Limit: 300,
			From:  first,
			To:    first.AddDate(0, 1, 0),
			Used:  []usage.UsedByKey{{ID: second.ID, Admitted: 350}, {ID: k.ID, Admitted: 100}},
		},
	}, "a month")
	assert.DeepEqual(t, inUTC(get("a-3")), usage.FailedDetail{
		FailedRequest: ofKey,
		RefusedBy: &usage.RefusingWindow{
			Name:  "key",
			Limit: 300,
			From:  fixture.Noon,
			To:    fixture.Noon.Add(time.Minute),
			Used:  []usage.UsedByKey{{ID: k.ID, Admitted: 40}},
		},
	}, "a key's own minute")
	db.Exec(t, `update usage_hourly set minute = minute + 1 where key_id = $1 and hour = $2`, second.ID, fixture.Noon)
	assert.DeepEqual(t, inUTC(get("a-1")), usage.FailedDetail{
		FailedRequest: minute,
		Hours:         hours,
		RefusedBy: &usage.RefusingWindow{
			Name:  minute.Window,
			Limit: 300,
			From:  fixture.Noon,
			To:    fixture.Noon.Add(time.Hour),
			Used:  []usage.UsedByKey{{ID: second.ID, Admitted: 300}, {ID: k.ID, Admitted: 100}},
		},
	}, "a minute that is over")

	assert.DeepEqual(t, get("a-4"), usage.FailedDetail{FailedRequest: missing}, "no window")
	db.Exec(
		t,
		`insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at, lifted_at) values
		($1, $2, 'staff', '', $3, $4, $5), ($1, $2, 'staff', '', $3, $6, null)`,
		k.TenantID,
		k.ID,
		fixture.Noon,
		fixture.Noon.Add(time.Hour),
		fixture.Noon.Add(time.Minute),
		time.Now().Add(time.Hour).Truncate(time.Second),
	)
	got := get("a-5")
	if !got.LiftedAt.Equal(fixture.Noon.Add(time.Minute)) || time.Until(got.BannedUntil) < 59*time.Minute {
		t.Errorf("lifted at %s, banned until %s", got.LiftedAt, got.BannedUntil)
	}
	assert.True(t, get("a-4").LiftedAt.IsZero(), "the ban refused another request")
	assert.True(
		t,
		got.FullUntil.Equal(fixture.Noon.Add(time.Minute)) && get("a-1").FullUntil.IsZero(),
		"the window that refused the key before its ban",
		got.FullUntil,
	)
	// 61 minutes of a key's own limit of 4 have room for 244 of 300 requests or more, but what was
	// admitted was not refused by it.
	for _, c := range []struct{ perMinute, refused, own int64 }{{4, 0, 0}, {4, 70, 70}, {4, 200, 200}, {7, 150, 23},
		{math.MaxInt64, 70, 0}} {
		db.Exec(
			t,
			`update usage_hourly set refused = $3 where key_id = $1 and hour = $2`,
			second.ID,
			fixture.Noon,
			c.refused,
		)
		db.Exec(t, `update api_keys set per_minute = $2 where id = $1`, second.ID, c.perMinute)
		assert.Equal(t, fmt.Sprint(get("a-1").Hours[0].Own, get("a-1").Hours[1].Own), fmt.Sprint(0, c.own), c)
	}
	for id, tenant := range map[string]int64{"a-1": other.TenantID, "a-99": k.TenantID} {
		_, err := db.API.FailedRequests.GetFailed(t.Context(), tenant, id, fixture.Noon, fixture.Noon.Add(time.Hour))
		assert.ErrorIs(t, err, usage.ErrFailedNotFound, id)
	}
	_, err := db.API.FailedRequests.GetFailed(
		t.Context(),
		k.TenantID,
		"a-1",
		fixture.Noon.Add(2*time.Second),
		fixture.Noon.Add(time.Hour),
	)
	assert.ErrorIs(t, err, usage.ErrFailedNotFound, "older than asked for")
	later := minute
	later.At, later.Number, later.Status = fixture.Noon.Add(time.Minute), 6, 404
	assert.NoError(t, db.API.FailedRequests.WriteFailed(t.Context(), []usage.FailedRequest{later}))
	assert.Equal(t, fmt.Sprint(get("a-1").Status), "404", "the latest with an ID that was used again")
}

// inUTC is the detail with its hours in UTC, as they were written.
func inUTC(d usage.FailedDetail) usage.FailedDetail {
	for i := range d.Hours {
		d.Hours[i].At = d.Hours[i].At.UTC()
	}
	return d
}
