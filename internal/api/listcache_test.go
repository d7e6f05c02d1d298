package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/catalog"
	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// fakeStamps is a limiter whose decisions carry stamps, and an Invalidator.
type fakeStamps struct {
	limits.Limiter
	mu      sync.Mutex
	stamp   freshness.Stamp
	pending int
	// committed says of each write that ended whether it was committed or abandoned.
	committed []bool
	// err is the result of each BeginWrite, tooLate that of each end.
	err, tooLate error
	// announced counts the requests that hold an announced write.
	announced int
	// old says that an old write is under way.
	old bool
}

var _ limits.WriteLimiter = (*fakeStamps)(nil)

// TakeWrite implements limits.WriteLimiter.
func (v *fakeStamps) TakeWrite(ctx context.Context, c limits.Claim, now time.Time) (limits.Decision, limits.Announced) {
	d := v.Take(ctx, c, now)
	if !d.Admitted {
		return d, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.announced++
	return d, v
}

// Release implements limits.Announced.
func (v *fakeStamps) Release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.announced--
}

// Take implements limits.Limiter.
func (v *fakeStamps) Take(ctx context.Context, c limits.Claim, now time.Time) limits.Decision {
	d := v.Limiter.Take(ctx, c, now)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.pending == 0 {
		d.Stamp = v.stamp
	}
	return d
}

// BeginWrite implements freshness.Invalidator.
func (v *fakeStamps) BeginWrite(context.Context, int64, freshness.Kind) (*freshness.Write, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return nil, v.err
	}
	v.stamp++
	v.pending++
	return freshness.NewWrite(func(committed bool) error {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.committed = append(v.committed, committed)
		if committed {
			v.pending--
		}
		return v.tooLate
	}), nil
}

// ended returns how the writes ended since the last call.
func (v *fakeStamps) ended() []bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	ended := v.committed
	v.committed = nil
	return ended
}

// newCachingFixture returns a fixture with a page cache, and a function that counts the calls of
// its store since the last time.
func newCachingFixture(t testing.TB) (w *fixture, v *fakeStamps, reads func() int) {
	t.Helper()
	v = &fakeStamps{stamp: 1}
	w = newFixture(t, func(c *Config) {
		v.Limiter = c.Limiter
		c.Limiter, c.Invalidator, c.ListCacheBytes, c.pageClock = v, v, 1<<20, stoppedClock{}
		c.NoOldWrites = func() bool { return !v.old }
	})
	w.setPlan(t, plans.Enterprise, noLimit)
	calls := 0
	w.pets.before = func() { calls++ }
	return w, v, func() int {
		n := calls
		calls = 0
		return n
	}
}

// stoppedClock is a clock by which no page expires, however long a test takes.
type stoppedClock struct{}

func (stoppedClock) NowNano() int64                      { return 1 }
func (stoppedClock) Tick(time.Duration) <-chan time.Time { return nil }

func (w *fixture) list(t testing.TB, query string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return w.do(w.request("GET", "/v1/pets"+query, "", append(headers, "X-Request-Id", "same")...))
}

func (w *fixture) create(t testing.TB, name string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return w.do(w.request("POST", "/v1/pets", `{"name":"`+name+`","categoryId":1}`, headers...))
}

// TestCachedListsAreTheSame: responses from the cache have the bytes and all headers of those from
// the store, except for what belongs to the request, and the store is not read.
func TestCachedListsAreTheSame(t *testing.T) {
	t.Parallel()
	w, _, reads := newCachingFixture(t)
	for i := range 45 {
		w.addPet(t, []catalog.Status{catalog.Available, catalog.Pending, catalog.Sold}[i%3])
	}
	plain := newFixture(t)
	plain.pets.pets[1] = w.pets.pets[1]
	plain.setPlan(t, plans.Enterprise, noLimit)
	for _, query := range []string{
		"", "?limit=20", "?limit=7", "?limit=100", "?status=sold", "?status=sold&limit=20", "?cursor=0000000000000014",
		"?cursor=0000000000000014&limit=20&status=available", "?cursor=7fffffffffffffff", "?cursor=ffffffffffffffff",
		"?limit=%320",
		"?ids=3,1", "?ids=1,3", "?categoryId=7", "?categoryId=7&status=sold", "?name=Rex&limit=3",
		"?name=Rex&categoryId=7&ids=2&status=sold",
	} {
		for range 2 {
			w.list(t, query)
		}
		reads()
		for _, headers := range [][]string{nil, {"If-None-Match", "*"}, {"If-None-Match", `"other"`}} {
			want, got := plain.list(t, query, headers...), w.list(t, query, headers...)
			assert.DeepEqual(t, withoutCounts(got), withoutCounts(want), query, headers, "-store +cache")
		}
		tag := header(w.list(t, query), "ETag")
		if rec := w.list(t, query, "If-None-Match", `"x", W/`+tag); rec.Code != 304 || rec.Body.Len() > 0 {
			t.Errorf("%s: %d, want 304", query, rec.Code)
		}
		if head := w.do(w.request("HEAD", "/v1/pets"+query, "")); head.Code != 200 || head.Body.Len() > 0 ||
			header(head, "ETag") != tag {
			t.Errorf("%s: HEAD %d %v", query, head.Code, head.Result().Header)
		}
		assert.Equal(t, reads(), 0, query, "the store was read times")
	}
}

// TestNoCachedListWhileAnOldWriteIsUnderWay: lists come from the store then, and are not cached.
func TestNoCachedListWhileAnOldWriteIsUnderWay(t *testing.T) {
	t.Parallel()
	w, v, reads := newCachingFixture(t)
	for i, want := range []int{1, 1, 0, 1, 1, 0} { // the second read is cached; the fourth and fifth are while it is
		v.old = i == 3 || i == 4
		w.list(t, "")
		assert.Equal(t, reads(), want, "list", i, "the store was read times")
	}
}

// TestWritesEndBeforeTheirIntent: a write may be made for so long after its announcement that its
// intent is still in force.
func TestWritesEndBeforeTheirIntent(t *testing.T) {
	t.Parallel()
	s := &invalidatingStore{invalidator: &fakeStamps{}}
	began := time.Now()
	err := s.write(t.Context(), 1, freshness.Changes, func(ctx context.Context) error {
		if end, ok := ctx.Deadline(); !ok || end.Before(began.Add(freshness.MaxWrite)) ||
			end.After(time.Now().Add(freshness.MaxWrite)) {
			t.Errorf("until %v, %v", end, ok)
		}
		return nil
	})
	assert.Equal(t, err, nil)
}

func withoutCounts(rec *httptest.ResponseRecorder) map[string]any {
	h := maps.Clone(rec.Result().Header)
	for _, name := range []string{"X-Ratelimit-Remaining", "X-RateLimit-Remaining", "RateLimit"} {
		delete(h, name)
	}
	return map[string]any{"status": rec.Code, "header": h, "body": rec.Body.String()}
}

// TestListsNotCached: lists that are requested once, invalid requests, and lists with long filters.
// Unknown parameters make no difference.
func TestListsNotCached(t *testing.T) {
	t.Parallel()
	w, v, reads := newCachingFixture(t)
	for query, want := range map[string]int{"?limit=0": 0, "?limit=1&limit=1": 0, "?cursor=x": 0, "?colour=red": 2,
		"?limit=3": 2, "?ids=1": 2, "?name=" + strings.Repeat("x", 65): 3} {
		for range 3 {
			w.list(t, query)
		}
		assert.Equal(t, reads(), want, query, "the store was read times in 3")
	}
	v.pending = 1
	for range 3 {
		w.list(t, "?limit=3")
	}
	assert.Equal(t, reads(), 3, "uncertain: the store was read times in 3")
}

// TestListsAreNeverStale: the next list shows each kind of change.
func TestListsAreNeverStale(t *testing.T) {
	t.Parallel()
	w, v, reads := newCachingFixture(t)
	patch := func(path, body string) *http.Request { return w.request("PATCH", path, body) }
	post := func(path, body string, headers ...string) *http.Request {
		return w.request("POST", path, body, headers...)
	}
	for i, tt := range []struct {
		change *http.Request
		status int
		ended  []bool
	}{
		{post("/v1/pets", rex), 201, []bool{true}},
		{post("/v1/pets", rex, "Idempotency-Key", "a"), 201, []bool{true}},
		{post("/v1/pets", rex, "Idempotency-Key", "a"), 201, []bool{true}}, // a replay
		{post("/v1/pets", `{"name":"Max","categoryId":1}`, "Idempotency-Key", "a"), 422, []bool{true}},
		{post("/v1/pets", `{}`), 400, nil},
		{patch("/v1/pets/1", `{"name":"Max"}`), 200, []bool{true}},
		{patch("/v1/pets/99", `{"name":"Max"}`), 404, []bool{true}},
		{post("/v1/store/orders", `{"petId":1}`), 201, []bool{true}},
		{post("/v1/store/orders", `{"petId":1}`), 409, []bool{true}},
		{patch("/v1/store/orders/1", `{"status":"cancelled"}`), 200, []bool{true}},
		{patch("/v1/store/orders/1", `{"status":"placed"}`), 409, []bool{true}},
		{patch("/v1/store/orders/9", `{"status":"placed"}`), 404, []bool{true}},
	} {
		for range 3 {
			w.list(t, "")
		}
		reads()
		before := w.list(t, "").Body.String()
		assert.Equal(t, reads(), 0, i, "the list does not come from the cache")
		rec := w.do(tt.change)
		if diff := cmp.Diff(tt.ended, v.ended()); rec.Code != tt.status || diff != "" {
			t.Errorf("%d: %d %s; ends of changes (-want +got):\n%s", i, rec.Code, rec.Body, diff)
		}
		rows, _, err := w.pets.ListPets(t.Context(), 1, catalog.Page{Limit: 20})
		assert.NoError(t, err)
		now, err := jsonbody.Marshal(slices.Clip(append([]catalog.Pet{}, rows...)))
		if got := w.list(t, "").Body.String(); err != nil || got != string(now) {
			t.Errorf("%d: got %s, before %s, want %s", i, got, before, now)
		}
	}
}

// TestListsDuringAWrite: a list that was read during a write is not cached, nor is one read before
// a write cached under the stamp after it. After an abandoned write lists are read from the store
// each time.
func TestListsDuringAWrite(t *testing.T) {
	t.Parallel()
	w, v, reads := newCachingFixture(t)
	w.addPet(t, catalog.Available)
	w.list(t, "") // The page is cached at its second request.
	count := w.pets.before
	// A write begins between the decision and the reading of the rows, and takes effect after it.
	change := sync.OnceFunc(func() {
		write, err := v.BeginWrite(t.Context(), 1, freshness.Changes)
		assert.Equal(t, err, nil)
		_ = write.Commit()
		w.pets.before = count
	})
	w.pets.before = func() { count(); change() }
	w.list(t, "")
	w.addPet(t, catalog.Available)
	got := w.list(t, "").Body.String()
	assert.Equal(t, strings.Count(got, `"id"`), 2, "stale", got)
	w.list(t, "")
	reads()
	w.list(t, "")
	assert.Equal(t, reads(), 0, "reads of an unchanged list")
	// A write whose outcome is unknown.
	w.pets.err = catalog.ErrUnavailable
	assert.Equal(t, w.create(t, "Rex").Code, 503)
	w.pets.err = nil
	assert.DeepEqual(t, v.ended(), []bool{true, false}, "ends of changes")
	reads()
	for range 3 {
		w.list(t, "")
	}
	assert.Equal(t, reads(), 3, "reads for 3 lists after an abandoned write")
}

// TestUnannouncedWritesAreNotMade: if readers can't be told of a write, nothing changes. A write is
// announced before its key is claimed, also one that would be a replay.
func TestUnannouncedWritesAreNotMade(t *testing.T) {
	t.Parallel()
	w, v, reads := newCachingFixture(t)
	stored := []string{"Idempotency-Key", "stored"}
	assert.Equal(t, w.create(t, "Rex", stored...).Code, 201)
	reads()
	v.err = errors.New("no reader can be told")
	for _, headers := range [][]string{nil, {"Idempotency-Key", "a"}, stored} {
		rec := w.create(t, "Rex", headers...)
		if code := checkAnswer(
			t,
			w.request("POST", "/v1/pets", ""),
			rec,
		); rec.Code != 503 || code != "unavailable" ||
			reads() != 0 {
			t.Errorf("%v: %d %s", headers, rec.Code, rec.Body)
		}
	}
	if w.meter.refunded != 3 || !strings.Contains(w.logs.String(), "no reader can be told") {
		t.Errorf("%d given back, log %s", w.meter.refunded, w.logs)
	}
}

// TestOutcomesOfWrites: a 503 says whether the write may have taken effect, and its intent ends
// only if that is certain.
func TestOutcomesOfWrites(t *testing.T) {
	t.Parallel()
	unknown := fmt.Errorf("change: %w", catalog.ErrUnavailable)
	for name, test := range map[string]struct {
		err     error
		code    string
		settled bool
	}{
		"unknown":            {unknown, "outcome_unknown", false},
		"timeout":            {context.DeadlineExceeded, "outcome_unknown", false},
		"certainly not made": {fmt.Errorf("%w: %w", catalog.ErrNotMade, unknown), "unavailable", true},
		"not called in time": {fmt.Errorf("%w: %w", catalog.ErrNotMade, context.DeadlineExceeded), "unavailable",
			true},
		"a bug after sending": {errors.New("bug"), "internal_error", false},
	} {
		w, v, _ := newCachingFixture(t)
		id := w.addPet(t, catalog.Available)
		v.ended()
		w.pets.err = test.err
		for _, r := range []*http.Request{
			w.request("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`),
			w.request("PATCH", fmt.Sprintf("/v1/pets/%d", id), `{"name":"Rex"}`),
		} {
			rec := w.do(r)
			if code := checkAnswer(
				t,
				r,
				rec,
			); code != test.code ||
				header(rec, "Retry-After") != "1" && rec.Code == 503 {
				t.Errorf("%s: %s %d %s", name, r.Method, rec.Code, rec.Body)
			}
			assert.DeepEqual(t, v.ended(), []bool{test.settled}, name, "ends of changes")
		}
		if r := w.request(
			"GET",
			"/v1/pets?limit=7",
			"",
		); name == "unknown" &&
			checkAnswer(t, r, w.do(r)) != "unavailable" {
			t.Error("a read of unknown outcome")
		}
	}
}

// TestLateWriteIsNotAcknowledged: if readers may not know of a write that was made, its response is
// 503.
func TestLateWriteIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	w, v, _ := newCachingFixture(t)
	v.tooLate = errors.New("the server stood still")
	for _, headers := range [][]string{nil, {"Idempotency-Key", "a"}, {"Idempotency-Key", "a"}} {
		if rec := w.create(
			t,
			"Rex",
			headers...); rec.Code != 503 ||
			!strings.Contains(rec.Body.String(), "outcome_unknown") {
			t.Errorf("%v: %d %s", headers, rec.Code, rec.Body)
		}
	}
	// The repeated request, whose answer is stored, announces the animal.
	v.tooLate = nil
	v.ended()
	rec := w.create(t, "Rex", "Idempotency-Key", "a")
	if ended := v.ended(); rec.Code != 201 || header(rec, "Idempotent-Replayed") != "true" || len(ended) != 1 ||
		!ended[0] {
		t.Errorf("repeated: %d %s, ends of changes %v", rec.Code, rec.Body, ended)
	}
	assert.True(t, strings.Contains(w.logs.String(), "the server stood still"), "log", w.logs)
}

// TestAnnouncedWritesEnd: a request that writes is announced with the decision, until it ends,
// whether it writes or fails; no other is.
func TestAnnouncedWritesEnd(t *testing.T) {
	t.Parallel()
	w, v, _ := newCachingFixture(t)
	took := 0
	w.pets.before = func() { v.mu.Lock(); took += v.announced; v.mu.Unlock() }
	w.create(t, "Rex")
	w.create(t, "Rex", "Idempotency-Key", "a")
	w.do(w.request("PATCH", "/v1/pets/1", `{"name":"Rufus"}`))
	assert.Equal(t, took, 3, "writes were announced with the decision")
	w.do(w.request("POST", "/v1/pets", `{"name":`))
	w.do(w.request("PATCH", "/v1/pets/none", `{"name":"Rufus"}`))
	w.do(w.request("POST", "/v1/store/orders", `{"petId":999}`))
	w.list(t, "")
	w.do(w.request("OPTIONS", "/v1/pets", ""))
	assert.Equal(t, v.announced, 0, "are announced after their requests")
}

// TestPanickingWriteIsAbandoned: the outcome of a write that panicked is unknown.
func TestPanickingWriteIsAbandoned(t *testing.T) {
	t.Parallel()
	w, v, _ := newCachingFixture(t)
	w.pets.before = func() { panic("x") }
	for _, r := range []*http.Request{
		w.request("POST", "/v1/pets", rex), w.request("PATCH", "/v1/pets/1", `{"name":"Rex"}`),
	} {
		assert.Equal(t, w.do(r).Code, 500, r.Method)
		assert.DeepEqual(t, v.ended(), []bool{false}, r.Method)
	}
}

// TestListCacheMetrics: hits, and misses by reason.
func TestListCacheMetrics(t *testing.T) {
	t.Parallel()
	w, v, _ := newCachingFixture(t)
	for range 5 {
		w.list(t, "")
	}
	w.create(t, "Rex")
	w.list(t, "")
	v.pending = 1
	w.list(t, "")
	families, err := w.registry.Gather()
	assert.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if name, ok := strings.CutPrefix(f.GetName(), "petstore_list_cache_"); ok && m.GetCounter() != nil {
				for _, l := range m.GetLabel() {
					name += " " + l.GetValue()
				}
				got[name] = m.GetCounter().GetValue()
			}
		}
	}
	want := map[string]float64{
		"hits_total":               3,
		"misses_total miss":        2,
		"misses_total stale":       1,
		"misses_total unversioned": 1,
		"shared_total":             0,
	}
	assert.DeepEqual(t, got, want)
}
