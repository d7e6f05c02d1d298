package admin_test

import (
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/usage"
)

// refusal is the n-th of a server, at so many seconds after noon.
func refusal(k fixture.MeteredKey, server string, n int) usage.FailedRequest {
	return usage.FailedRequest{
		At:         fixture.Noon.Add(time.Duration(n) * time.Second),
		Took:       1500 * time.Microsecond,
		RequestID:  fmt.Sprintf("%s-%d", server, n),
		TenantID:   k.TenantID,
		KeyID:      k.ID,
		Status:     429,
		Code:       "rate_limit_exceeded",
		Plan:       "pro",
		Window:     "minute",
		Limit:      300,
		Reset:      fixture.Noon.Unix() + 60,
		Partial:    true,
		Method:     "GET",
		Route:      "/v1/pets",
		ServerID:   server,
		Number:     int64(n),
		Suppressed: int64(n),
	}
}

// notFound is one that no limit refused.
func notFound(k fixture.MeteredKey, server string, n int) usage.FailedRequest {
	f := refusal(k, server, n)
	f.Status, f.Code, f.Window, f.Limit, f.Reset, f.Partial = 404, "pet_not_found", "", 0, 0, false
	return f
}

func TestFailedRequestsAreStoredOnce(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k, other := db.Key(t, 1), db.Key(t, 2)
	gone := k
	gone.ID = "key_gone000000000000"
	stranger := usage.FailedRequest{
		At:        fixture.Noon,
		RequestID: "stranger",
		Status:    401,
		Code:      "invalid_api_key",
		Reason:    usage.Malformed,
		Method:    "GET",
		ServerID:  "a",
		Number:    6,
	}
	banned := refusal(k, "a", 3)
	banned.Code, banned.Window, banned.Limit, banned.Reset, banned.Partial = "key_banned", "", 0, 0, false
	batch := []usage.FailedRequest{
		refusal(k, "a", 1),
		refusal(k, "a", 2),
		banned,
		refusal(other, "a", 4),
		refusal(gone, "a", 5),
		stranger,
	}
	for range 2 {
		assert.NoError(t, db.API.FailedRequests.WriteFailed(t.Context(), batch))
	}
	got, err := db.Staff.FailedRequests.OfKey(t.Context(), k.TenantID, k.ID, 100)
	assert.Result(t, got, err, []usage.FailedRequest{banned, batch[1], batch[0]}, "of the key")
	assert.Equal(t, db.Text(t, `select count(*) from failed_requests`), "5", "stored")
	got, err = db.Staff.FailedRequests.OfTenant(t.Context(), k.TenantID, fixture.Noon.Add(2*time.Second), 1)
	assert.Result(t, got, err, []usage.FailedRequest{banned}, "of the tenant")
	got, err = db.Staff.FailedRequests.OfRequest(t.Context(), "stranger", 100)
	assert.Result(t, got, err, []usage.FailedRequest{stranger}, "of a stranger")

	again := refusal(other, "b", 9)
	again.RequestID = batch[0].RequestID
	assert.NoError(t, db.API.FailedRequests.WriteFailed(t.Context(), []usage.FailedRequest{again}))
	got, err = db.Staff.FailedRequests.OfRequest(t.Context(), batch[0].RequestID, 100)
	assert.Result(t, got, err, []usage.FailedRequest{again, batch[0]}, "of the request")
}

// TestFailedRequestsPerKeyAreBounded: whoever writes at the same time, of each key and hour the
// latest stay, and of those that were refused with 429 only as many as of the others.
func TestFailedRequestsPerKeyAreBounded(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k, quiet := db.Key(t, 1), db.Key(t, 2)
	assert.NoError(
		t,
		db.API.FailedRequests.WriteFailed(t.Context(), []usage.FailedRequest{refusal(quiet, "a", 1_000_000)}),
	)
	others := []usage.FailedRequest{notFound(k, "c", 0), notFound(k, "c", 1)}
	assert.NoError(t, db.API.FailedRequests.WriteFailed(t.Context(), others))
	fixture.AtOnce(t, 4, 4, nil, func(server int) error {
		for round := range 20 {
			batch := make([]usage.FailedRequest, 10)
			for i := range batch {
				batch[i] = refusal(k, fmt.Sprint(server), 10*round+i)
			}
			if err := db.API.FailedRequests.WriteFailed(t.Context(), batch); err != nil {
				return err
			}
		}
		return nil
	})
	latest, nextHour := refusal(k, "last", 3500), refusal(k, "next", 3600)
	assert.NoError(t, db.API.FailedRequests.WriteFailed(t.Context(), []usage.FailedRequest{latest, nextHour}))
	got, err := db.Staff.FailedRequests.OfKey(t.Context(), k.TenantID, k.ID, 1000)
	if err != nil || len(got) != 1+usage.FailedPerHour+len(others) {
		t.Fatalf(
			"%d stored, want %d of an hour, one of the next, and the others; %v",
			len(got),
			usage.FailedPerHour,
			err,
		)
	}
	assert.DeepEqual(t, got[:2], []usage.FailedRequest{nextHour, latest}, "the latest")
	// Four servers refused 48 times after the 187th second.
	oldest := got[usage.FailedPerHour].At
	assert.True(t, !oldest.Before(fixture.Noon.Add(187*time.Second)), "the oldest stored is of", oldest)
	assert.DeepEqual(t, got[1+usage.FailedPerHour:], []usage.FailedRequest{others[1], others[0]}, "the others")
	if n := db.Text(t, `select count(*) from failed_requests`); n != fmt.Sprint(1+usage.FailedPerHour+len(others)+1) {
		t.Errorf("%s stored in all", n)
	}
}

func TestPruneFailedRequests(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k := db.Key(t, 1)
	var batch []usage.FailedRequest
	for n := range 10 {
		batch = append(batch, refusal(k, "a", n))
	}
	assert.NoError(t, db.API.FailedRequests.WriteFailed(t.Context(), batch))
	for _, want := range []int{4, 3, 0} {
		removed, err := db.API.FailedRequests.Prune(t.Context(), fixture.Noon.Add(7*time.Second), 4)
		assert.Result(t, removed, err, want, "removed")
	}
	if n := db.Text(t, `select string_agg(number::text, ' ' order by number) from failed_requests`); n != "7 8 9" {
		t.Errorf("left: %s", n)
	}
}

// TestPruneStrangers: of requests without a key that exists the latest 10,000 stay, whatever their
// age.
func TestPruneStrangers(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	db.Exec(
		t,
		`insert into failed_requests (server_id, number, at, request_id, status, code, reason, plan, limited_by,
			allowed, partial, method,
		route, suppressed, took_micros)
		select 's', n, now() - n * interval '1 second', '', 401, '', '', '', '', 0, false, '', '', 0, 0 from
			generate_series(1, 10100) n`,
	)
	for _, want := range []int{60, 40, 0} {
		removed, err := db.API.FailedRequests.Prune(t.Context(), fixture.Noon, 60)
		assert.Result(t, removed, err, want, "removed")
	}
	assert.Equal(t, db.Text(t, `select max(number) from failed_requests`), "10000", "the oldest that is left")
}
