package store_test

import (
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// refusal is the n-th of a server, at so many seconds after noon.
func (k meteredKey) refusal(server string, n int) usage.FailedRequest {
	return usage.FailedRequest{
		At:         noon.Add(time.Duration(n) * time.Second),
		Took:       1500 * time.Microsecond,
		RequestID:  fmt.Sprintf("%s-%d", server, n),
		TenantID:   k.TenantID,
		KeyID:      k.ID,
		Status:     429,
		Code:       "rate_limit_exceeded",
		Plan:       "pro",
		Window:     "minute",
		Limit:      300,
		Reset:      noon.Unix() + 60,
		Partial:    true,
		Method:     "GET",
		Route:      "/v1/pets",
		ServerID:   server,
		Number:     int64(n),
		Suppressed: int64(n),
	}
}

// notFound is one that no limit refused.
func (k meteredKey) notFound(server string, n int) usage.FailedRequest {
	f := k.refusal(server, n)
	f.Status, f.Code, f.Window, f.Limit, f.Reset, f.Partial = 404, "pet_not_found", "", 0, 0, false
	return f
}

func TestFailedRequestsAreStoredOnce(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k, other := db.key(t, 1), db.key(t, 2)
	gone := k
	gone.ID = "key_gone000000000000"
	stranger := usage.FailedRequest{
		At:        noon,
		RequestID: "stranger",
		Status:    401,
		Code:      "invalid_api_key",
		Reason:    usage.Malformed,
		Method:    "GET",
		ServerID:  "a",
		Number:    6,
	}
	banned := k.refusal("a", 3)
	banned.Code, banned.Window, banned.Limit, banned.Reset, banned.Partial = "key_banned", "", 0, 0, false
	batch := []usage.FailedRequest{
		k.refusal("a", 1),
		k.refusal("a", 2),
		banned,
		other.refusal("a", 4),
		gone.refusal("a", 5),
		stranger,
	}
	for range 2 {
		assert.NoError(t, db.api.FailedRequests.WriteFailed(t.Context(), batch))
	}
	got, err := db.staff.FailedRequests.OfKey(t.Context(), k.TenantID, k.ID, 100)
	assert.Result(t, got, err, []usage.FailedRequest{banned, batch[1], batch[0]}, "of the key")
	assert.Equal(t, db.text(t, `select count(*) from failed_requests`), "5", "stored")
	got, err = db.staff.FailedRequests.OfTenant(t.Context(), k.TenantID, noon.Add(2*time.Second), 1)
	assert.Result(t, got, err, []usage.FailedRequest{banned}, "of the tenant")
	got, err = db.staff.FailedRequests.OfRequest(t.Context(), "stranger", 100)
	assert.Result(t, got, err, []usage.FailedRequest{stranger}, "of a stranger")

	again := other.refusal("b", 9)
	again.RequestID = batch[0].RequestID
	assert.NoError(t, db.api.FailedRequests.WriteFailed(t.Context(), []usage.FailedRequest{again}))
	got, err = db.staff.FailedRequests.OfRequest(t.Context(), batch[0].RequestID, 100)
	assert.Result(t, got, err, []usage.FailedRequest{again, batch[0]}, "of the request")
}

// TestFailedRequestsPerKeyAreBounded: whoever writes at the same time, of each key and hour the
// latest stay, and of those that were refused with 429 only as many as of the others.
func TestFailedRequestsPerKeyAreBounded(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k, quiet := db.key(t, 1), db.key(t, 2)
	assert.NoError(
		t,
		db.api.FailedRequests.WriteFailed(t.Context(), []usage.FailedRequest{quiet.refusal("a", 1_000_000)}),
	)
	others := []usage.FailedRequest{k.notFound("c", 0), k.notFound("c", 1)}
	assert.NoError(t, db.api.FailedRequests.WriteFailed(t.Context(), others))
	atOnce(t, 4, 4, nil, func(server int) error {
		for round := range 20 {
			batch := make([]usage.FailedRequest, 10)
			for i := range batch {
				batch[i] = k.refusal(fmt.Sprint(server), 10*round+i)
			}
			if err := db.api.FailedRequests.WriteFailed(t.Context(), batch); err != nil {
				return err
			}
		}
		return nil
	})
	latest, nextHour := k.refusal("last", 3500), k.refusal("next", 3600)
	assert.NoError(t, db.api.FailedRequests.WriteFailed(t.Context(), []usage.FailedRequest{latest, nextHour}))
	got, err := db.staff.FailedRequests.OfKey(t.Context(), k.TenantID, k.ID, 1000)
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
	assert.True(t, !oldest.Before(noon.Add(187*time.Second)), "the oldest stored is of", oldest)
	assert.DeepEqual(t, got[1+usage.FailedPerHour:], []usage.FailedRequest{others[1], others[0]}, "the others")
	if n := db.text(t, `select count(*) from failed_requests`); n != fmt.Sprint(1+usage.FailedPerHour+len(others)+1) {
		t.Errorf("%s stored in all", n)
	}
}

func TestPruneFailedRequests(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k := db.key(t, 1)
	var batch []usage.FailedRequest
	for n := range 10 {
		batch = append(batch, k.refusal("a", n))
	}
	assert.NoError(t, db.api.FailedRequests.WriteFailed(t.Context(), batch))
	for _, want := range []int{4, 3, 0} {
		removed, err := db.api.FailedRequests.Prune(t.Context(), noon.Add(7*time.Second), 4)
		assert.Result(t, removed, err, want, "removed")
	}
	if n := db.text(t, `select string_agg(number::text, ' ' order by number) from failed_requests`); n != "7 8 9" {
		t.Errorf("left: %s", n)
	}
}

// TestPruneStrangers: of requests without a key that exists the latest 10,000 stay, whatever their
// age.
func TestPruneStrangers(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	db.exec(
		t,
		`insert into failed_requests (server_id, number, at, request_id, status, code, reason, plan, limited_by,
			allowed, partial, method,
		route, suppressed, took_micros)
		select 's', n, now() - n * interval '1 second', '', 401, '', '', '', '', 0, false, '', '', 0, 0 from
			generate_series(1, 10100) n`,
	)
	for _, want := range []int{60, 40, 0} {
		removed, err := db.api.FailedRequests.Prune(t.Context(), noon, 60)
		assert.Result(t, removed, err, want, "removed")
	}
	assert.Equal(t, db.text(t, `select max(number) from failed_requests`), "10000", "the oldest that is left")
}
