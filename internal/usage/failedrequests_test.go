package usage_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// failedTable is a FailedStore that keeps what is written, or fails.
type failedTable struct {
	mu   sync.Mutex
	err  error
	rows []usage.FailedRequest
	last []usage.FailedRequest
}

func (t *failedTable) WriteFailed(_ context.Context, failed []usage.FailedRequest) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = failed
	if t.err == nil {
		t.rows = append(t.rows, failed...)
	}
	return t.err
}

func refused(key string, n int) usage.FailedRequest {
	return usage.FailedRequest{
		RequestID: fmt.Sprintf("%s-%d", key, n),
		TenantID:  1,
		KeyID:     key,
		Code:      "rate_limit_exceeded",
	}
}

func record(key string, n int, number, suppressed int64) usage.FailedRequest {
	f := refused(key, n)
	f.ServerID, f.Number, f.Suppressed = "s", number, suppressed
	return f
}

// Of a flood, the middle is only counted, and the key is written less often.
func TestFailedRequestsKeepTheFirstAndTheLast(t *testing.T) {
	t.Parallel()
	now := noon
	table := &failedTable{}
	r := usage.NewFailedRequests(table, usage.Options{ServerID: "s", Clock: func() time.Time { return now }})
	flush := func(want ...usage.FailedRequest) {
		t.Helper()
		table.last = nil
		assert.NoError(t, r.Flush(t.Context()))
		if diff := cmp.Diff(want, table.last); diff != "" {
			t.Fatalf("written (-want +got):\n%s", diff)
		}
	}
	flush()
	r.Add(refused("a", 1))
	flush(record("a", 1, 1, 0))
	for n := range 1000 {
		r.Add(refused("a", n))
	}
	flush(
		record("a", 0, 2, 0),
		record("a", 1, 3, 0),
		record("a", 2, 4, 0),
		record("a", 3, 5, 0),
		record("a", 999, 6, 995),
	)
	r.Add(refused("a", 5))
	flush()
	now = now.Add(5 * time.Second)
	flush(record("a", 5, 7, 0))
	flush()
	for n := range 5 {
		r.Add(refused("a", n))
	}
	flush(
		record("a", 0, 8, 0),
		record("a", 1, 9, 0),
		record("a", 2, 10, 0),
		record("a", 3, 11, 0),
		record("a", 4, 12, 0),
	)
}

// A page begins after the last request of the page before, also within a microsecond.
func TestPagesOfFailedRequests(t *testing.T) {
	t.Parallel()
	last := usage.FailedRequest{At: noon, Number: 1<<10 + 6}
	for _, c := range []struct {
		after, low int64
		until      time.Time
	}{{last.Cursor(), 6, noon.Add(1)}, {last.Cursor(), 0, noon}, {0, 0, noon}} {
		at, low := (&usage.FailedPage{After: c.after, Until: c.until}).Before()
		assert.True(
			t,
			at.Equal(noon) && low == c.low,
			"a page after",
			c.after,
			"until",
			c.until,
			"begins before",
			at,
			low,
		)
	}
}

// The last refusal before a ban and the first by it are kept, but no more than ten in all.
func TestFailedRequestsKeepWhereTheReasonChanges(t *testing.T) {
	t.Parallel()
	table := &failedTable{}
	r := usage.NewFailedRequests(table, usage.Options{ServerID: "s"})
	banned := func(n int, number, suppressed int64) usage.FailedRequest {
		k := record("a", n, number, suppressed)
		k.Code = "key_banned"
		return k
	}
	for n := range 30 {
		if n < 20 {
			r.Add(refused("a", n))
		} else {
			r.Add(banned(n, 0, 0))
		}
	}
	assert.NoError(t, r.Flush(t.Context()))
	want := []usage.FailedRequest{
		record("a", 0, 1, 0), record("a", 1, 2, 0), record("a", 2, 3, 0), record("a", 3, 4, 0), record("a", 19, 5, 15),
		banned(20, 6, 0), banned(29, 7, 8),
	}
	assert.DeepEqual(t, table.rows, want, "written")

	for n := range 1000 {
		f := refused("b", n)
		if n%2 == 1 {
			f.Code = "key_banned"
		}
		r.Add(f)
	}
	table.rows = nil
	assert.NoError(t, r.Flush(t.Context()))
	if len(table.rows) < 5 || len(table.rows) > 10 {
		t.Errorf("%d kept of one key", len(table.rows))
	}
}

// A flood of keys fills neither the memory nor the store.
func TestFailedRequestsAreBounded(t *testing.T) {
	t.Parallel()
	table := &failedTable{}
	r := usage.NewFailedRequests(table, usage.Options{ServerID: "s"})
	for n := range 20_000 {
		r.Add(refused(fmt.Sprint(n), n))
	}
	rounds := 0
	for before := -1; len(table.rows) > before; rounds++ {
		before = len(table.rows)
		assert.NoError(t, r.Flush(t.Context()))
		if len(table.rows)-before > 200 {
			t.Fatalf("%d written at once", len(table.rows)-before)
		}
	}
	if len(table.rows) == 0 || len(table.rows) > 4096 {
		t.Errorf("%d kept", len(table.rows))
	}
}

// Where more keys fail than a write can hold, each gets its turn.
func TestFailedRequestsServeEveryKey(t *testing.T) {
	t.Parallel()
	for _, perSecond := range []int{1, 10} {
		now := noon
		table := &failedTable{}
		r := usage.NewFailedRequests(table, usage.Options{ServerID: "s", Clock: func() time.Time { return now }})
		const keys = 300
		for range 60 {
			for key := range keys {
				for n := range perSecond {
					r.Add(refused(fmt.Sprint("key", key), n))
				}
			}
			assert.NoError(t, r.Flush(t.Context()))
			now = now.Add(time.Second)
		}
		written := map[string]int{}
		for _, f := range table.rows {
			written[f.KeyID]++
		}
		least := len(table.rows)
		for key := range keys {
			least = min(least, written[fmt.Sprint("key", key)])
		}
		if least < 5 {
			t.Errorf(
				"%d failures a second of each of %d keys: %d keys written in a minute, one of them %d times",
				perSecond,
				keys,
				len(written),
				least,
			)
		}
	}
}

// Whoever sends no key that exists shares a small budget, of which nothing is left after a burst
// but one a second. What the limit of an address refused has another.
func TestFailedRequestsOfStrangersAreBounded(t *testing.T) {
	t.Parallel()
	now := noon
	table := &failedTable{}
	r := usage.NewFailedRequests(table, usage.Options{ServerID: "s", Clock: func() time.Time { return now }})
	flood := func() {
		for n := range 10_000 {
			f := usage.FailedRequest{RequestID: fmt.Sprint(n), Code: "invalid_api_key", Reason: usage.Malformed}
			r.Add(f)
			f.Code, f.Window = "rate_limit_exceeded", "ip"
			r.Add(f)
		}
	}
	for _, want := range []int{200, 6, 0, 200} {
		flood()
		table.last = nil
		assert.NoError(t, r.Flush(t.Context()))
		assert.Equal(t, len(table.last), want, "kept")
		switch want {
		case 200:
			now = now.Add(3500 * time.Millisecond)
			// The tokens of these seconds are there after the next write.
			assert.NoError(t, r.Flush(t.Context()))
		case 0:
			now = now.Add(time.Hour)
			assert.NoError(t, r.Flush(t.Context()))
		}
	}
}

func TestFailedRequestsAreRetried(t *testing.T) {
	t.Parallel()
	table := &failedTable{err: usage.ErrUnavailable}
	r := usage.NewFailedRequests(table, usage.Options{ServerID: "s"})
	r.Add(refused("a", 1))
	if err := r.Flush(t.Context()); err == nil {
		t.Fatal("a failed write is no error")
	}
	failed := table.last
	table.err = nil
	assert.NoError(t, r.Flush(t.Context()))
	assert.DeepEqual(t, table.rows, failed, "the second try -first +second")
}

func TestFailedRequestsRunWritesEverySecondAndAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := &failedTable{}
		r := usage.NewFailedRequests(table, usage.Options{ServerID: "s"})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		flood := func() {
			for n := range 10 {
				r.Add(refused("a", n))
			}
		}
		flood()
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, len(table.rows), 5, "written after a second")
		flood()
		stop()
		if err := <-done; err != nil || len(table.rows) != 10 {
			t.Errorf("%d written at the end, want 10; %v", len(table.rows), err)
		}
	})
}
