package usage_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// memoryStore is a Store in memory that can fail.
type memoryStore struct {
	mu sync.Mutex
	// fail is called before and after each write. An error after it is a lost reply.
	fail  func(write int, after bool) error
	tried []usage.Batch
	last  map[string]int64
	sums  map[usage.Bucket][2]int64
	uses  []usage.KeyUse
	ended int
	// told are the refusals that it was told, the first tellFrom of them in vain.
	told     []usage.Refusal
	tellFrom int
}

func (s *memoryStore) WriteUsage(ctx context.Context, b usage.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	write := len(s.tried)
	s.tried = append(s.tried, b)
	if s.fail != nil {
		if err := s.fail(write, false); err != nil {
			return err
		}
	}
	if b.Number > s.last[b.ServerID] {
		s.apply(b)
	}
	if s.fail != nil {
		return s.fail(write, true)
	}
	return ctx.Err()
}

func (s *memoryStore) TellRefusals(_ context.Context, refusals []usage.Refusal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, refusals...)
	if len(s.told) < s.tellFrom {
		return usage.ErrUnavailable
	}
	return nil
}

func (s *memoryStore) EndUsage(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended++
	return nil
}

func (s *memoryStore) apply(b usage.Batch) {
	if s.last == nil {
		s.last, s.sums = map[string]int64{}, map[usage.Bucket][2]int64{}
	}
	s.last[b.ServerID] = b.Number
	for _, c := range b.Counts {
		sum := s.sums[c.Bucket]
		s.sums[c.Bucket] = [2]int64{sum[0] + c.Admitted, sum[1] + c.Refused}
	}
	s.uses = append(s.uses, b.LastUsed...)
}

func newMeter(s usage.Store, clock func() time.Time) *usage.Meter {
	return usage.NewMeter(s, usage.Options{ServerID: "server-1", Clock: clock, Log: zerolog.Nop()})
}

func fixed(at time.Time) func() time.Time { return func() time.Time { return at } }

func flush(t *testing.T, m *usage.Meter) {
	t.Helper()
	assert.NoError(t, m.Flush(t.Context()))
}

// bucket is that of a key in an assignment of its tenant.
func bucket(tenantID int64, keyID string, assignment int64) usage.Bucket {
	return usage.Bucket{TenantID: tenantID, KeyID: keyID, Assignment: assignment, Version: 1}
}

func TestMeterCountsByBucket(t *testing.T) {
	t.Parallel()
	s := &memoryStore{}
	m := newMeter(s, fixed(noon))
	m.Admitted(bucket(1, "key_a", 1), noon.Add(-time.Nanosecond), 0, usage.Unlimited)
	m.Admitted(bucket(1, "key_a", 1), noon, 0, usage.Unlimited)
	m.Admitted(bucket(1, "key_a", 1), noon.Add(time.Hour-time.Nanosecond), 0, usage.Unlimited)
	m.Admitted(bucket(1, "key_a", 2), noon, 0, usage.Unlimited)
	m.Admitted(bucket(1, "key_b", 1), noon.In(time.FixedZone("half", 5*3600+1800)), 0, usage.Unlimited)
	m.Admitted(bucket(2, "key_c", 1), noon, 0, usage.Unlimited)
	m.Refused(bucket(2, "key_c", 1), noon)
	m.Refused(bucket(2, "key_c", 1), noon)
	flush(t, m)
	m.Refunded(bucket(1, "key_a", 1), noon, 0)
	m.Admitted(bucket(2, "key_d", 1), noon, 0, usage.Unlimited)
	m.Refunded(bucket(2, "key_d", 1), noon, 0)
	flush(t, m)
	hour := noon.Unix()
	want := map[usage.Bucket][2]int64{
		{TenantID: 1, KeyID: "key_a", Assignment: 1, Version: 1, Hour: hour - 3600}: {1, 0},
		{TenantID: 1, KeyID: "key_a", Assignment: 1, Version: 1, Hour: hour}:        {1, 0},
		{TenantID: 1, KeyID: "key_a", Assignment: 2, Version: 1, Hour: hour}:        {1, 0},
		{TenantID: 1, KeyID: "key_b", Assignment: 1, Version: 1, Hour: hour}:        {1, 0},
		{TenantID: 2, KeyID: "key_c", Assignment: 1, Version: 1, Hour: hour}:        {1, 2},
	}
	assert.DeepEqual(t, s.sums, want, "recorded")
}

func TestMeterSendsTheSameBatchAgain(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]bool{"write failed": false, "only the reply was lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &memoryStore{fail: func(write int, isAfter bool) error {
				if write < 2 && isAfter == after {
					return usage.ErrUnavailable
				}
				return nil
			}}
			m := newMeter(s, fixed(noon))
			m.Admitted(bucket(1, "key_a", 1), noon, 0, usage.Unlimited)
			for range 2 {
				if err := m.Flush(t.Context()); !errors.Is(err, usage.ErrUnavailable) {
					t.Fatalf("Flush = %v, want ErrUnavailable", err)
				}
				m.Admitted(bucket(1, "key_a", 1), noon, 0, usage.Unlimited)
			}
			flush(t, m)
			if len(s.tried) != 4 {
				t.Fatalf("%d writes, want 4", len(s.tried))
			}
			assert.DeepEqual(t, s.tried[1:3], []usage.Batch{s.tried[0], s.tried[0]}, "batches sent again")
			if got, want := s.tried[3].Number, s.tried[0].Number+1; got != want {
				t.Errorf("the next batch has number %d, want %d", got, want)
			}
			want := map[usage.Bucket][2]int64{
				{TenantID: 1, KeyID: "key_a", Assignment: 1, Version: 1, Hour: noon.Unix()}: {3, 0},
			}
			assert.DeepEqual(t, s.sums, want, "recorded")
		})
	}
}

func TestMeterStartedAgainNumbersOn(t *testing.T) {
	t.Parallel()
	s := &memoryStore{}
	for i := range 3 {
		m := newMeter(s, fixed(noon.Add(time.Duration(i)*time.Second)))
		for range 2 {
			m.Admitted(bucket(1, "key_a", 1), noon, 0, usage.Unlimited)
			flush(t, m)
		}
	}
	want := map[usage.Bucket][2]int64{
		{TenantID: 1, KeyID: "key_a", Assignment: 1, Version: 1, Hour: noon.Unix()}: {6, 0},
	}
	assert.DeepEqual(t, s.sums, want, "recorded by three processes of one name")
}

func TestMeterRecordsLastUseOnceAMinute(t *testing.T) {
	t.Parallel()
	s := &memoryStore{}
	now := noon
	m := newMeter(s, func() time.Time { return now })
	for second := range 130 {
		now = noon.Add(time.Duration(second) * time.Second)
		m.Admitted(bucket(1, "key_a", 1), now, 0, usage.Unlimited)
		if second == 10 {
			m.Admitted(bucket(1, "key_b", 1), now, 0, usage.Unlimited)
			m.Admitted(bucket(1, "key_b", 2), now, 0, usage.Unlimited)
			m.Used(bucket(1, "key_c", 1), now)
		}
		flush(t, m)
	}
	want := []usage.KeyUse{
		{KeyID: "key_a", At: noon},
		{KeyID: "key_b", At: noon.Add(10 * time.Second)},
		{KeyID: "key_c", At: noon.Add(10 * time.Second)},
		{KeyID: "key_a", At: noon.Add(time.Minute)},
		{KeyID: "key_a", At: noon.Add(2 * time.Minute)},
	}
	slices.SortFunc(
		s.uses,
		func(a, b usage.KeyUse) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.KeyID, b.KeyID)) },
	)
	assert.DeepEqual(t, s.uses, want, "uses")
	assert.Equal(t, len(s.sums), 3, "counts of key_a and twice of key_b")
}

func TestMeterLosesNothingUnderConcurrency(t *testing.T) {
	t.Parallel()
	s := &memoryStore{fail: func(write int, after bool) error {
		if write%3 == 1 || write%5 == 2 && after {
			return usage.ErrUnavailable
		}
		return nil
	}}
	m := newMeter(s, nil)
	const callers, each = 16, 1000
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				m.Admitted(bucket(1, fmt.Sprintf("key_%d", (c+i)%40), 1), noon, 0, usage.Unlimited)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			_ = m.Flush(t.Context())
		}
	}
	for m.Flush(t.Context()) != nil {
	}
	var sum int64
	for _, counts := range s.sums {
		sum += counts[0]
	}
	assert.Equal(t, sum, callers*each, "recorded")
}

// run runs a meter until stop, which returns the error of Run and how long it took to stop.
func run(t *testing.T, s usage.Store) (m *usage.Meter, stop func() (time.Duration, error)) {
	t.Helper()
	m = newMeter(s, nil)
	return m, start(t, m)
}

// start runs the meter until stop.
func start(t *testing.T, m *usage.Meter) (stop func() (time.Duration, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- m.Run(ctx) }()
	return func() (time.Duration, error) {
		stopped := time.Now()
		cancel()
		err := <-result
		return time.Since(stopped), err
	}
}

// It writes at once when more than half of what may be unrecorded is.
func TestRunIsAtMostASecondBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &memoryStore{}
		m, stop := run(t, s)
		time.Sleep(1234 * time.Millisecond)
		m.Admitted(bucket(1, "key_a", 1), time.Now(), 0, usage.Unlimited)
		time.Sleep(usage.FlushInterval)
		synctest.Wait()
		assert.Equal(t, len(s.sums), 1, "not recorded", usage.FlushInterval, "later")
		for n := range 2 {
			m.Admitted(bucket(1, "key_b", 1), time.Now(), 0, 3)
			synctest.Wait()
			assert.Equal(t, len(s.sums), 1+n, "recorded at once")
		}
		m.Admitted(bucket(1, "key_c", 1), time.Now(), 0, usage.Unlimited)
		if _, err := stop(); err != nil || len(s.sums) != 3 {
			t.Errorf("Run = %v; %d recorded at stop, want 3", err, len(s.sums))
		}
	})
}

func TestRunSaysWhatItCouldNotRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, stop := run(t, &memoryStore{fail: func(int, bool) error { return usage.ErrUnavailable }})
		m.Admitted(bucket(1, "key_a", 1), time.Now(), 0, usage.Unlimited)
		m.Refused(bucket(1, "key_a", 1), time.Now())
		time.Sleep(time.Second)
		m.Admitted(bucket(1, "key_a", 1), time.Now(), 0, usage.Unlimited)
		took, err := stop()
		if !errors.Is(err, usage.ErrUnavailable) || !strings.Contains(err.Error(), "2 admitted and 1 refused") {
			t.Errorf("Run = %v, want what was lost and why", err)
		}
		assert.True(t, took <= 6*time.Second, "Run took", took, "to stop")
	})
}

func TestRunStopsAlthoughTheStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, stop := run(t, hangingStore{})
		m.Admitted(bucket(1, "key_a", 1), time.Now(), 0, usage.Unlimited)
		time.Sleep(10 * time.Second)
		if took, err := stop(); !errors.Is(err, context.DeadlineExceeded) || took < 5*time.Second ||
			took > 8*time.Second {
			t.Errorf("Run = %v, %v after its context, want DeadlineExceeded after 5 to 8 s", err, took)
		}
	})
}

type hangingStore struct{}

func (hangingStore) WriteUsage(ctx context.Context, _ usage.Batch) error {
	<-ctx.Done()
	return ctx.Err()
}

func (hangingStore) TellRefusals(context.Context, []usage.Refusal) error { return nil }

func (hangingStore) EndUsage(context.Context, string) error { return nil }

func TestOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	broken := true
	s := &memoryStore{fail: func(int, bool) error {
		if broken {
			return usage.ErrUnavailable
		}
		return nil
	}}
	now := noon
	m := usage.NewMeter(s, usage.Options{Clock: func() time.Time { return now }, Log: zerolog.New(&log)})
	m.Admitted(bucket(1, "key_a", 1), noon, 0, usage.Unlimited)
	for range 121 {
		_ = m.Flush(t.Context())
		now = now.Add(time.Second)
	}
	broken = false
	flush(t, m)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 4 {
		t.Errorf("want a line at the start, one after each minute and one at the end, got:\n%s", log.String())
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	m := newMeter(&memoryStore{}, nil)
	m.Admitted(bucket(1, "key_a", 1), noon, 0, usage.Unlimited)
	if n := testing.AllocsPerRun(1000, func() { m.Admitted(bucket(1, "key_a", 1), noon, 0, usage.Unlimited) }); n != 0 {
		t.Errorf("%v allocations a request, want 0", n)
	}
}

// TestUnrecordedRequestsAreBounded: the request after the most must wait until it is recorded, for
// each tenant, whatever its keys. A refund makes no room, and a write that fails neither.
func TestUnrecordedRequestsAreBounded(t *testing.T) {
	t.Parallel()
	var broken error
	s := &memoryStore{fail: func(int, bool) error { return broken }}
	m := newMeter(s, fixed(noon))
	takes := func(tenantID int64, want ...bool) {
		t.Helper()
		for i, w := range want {
			if got := m.Admitted(bucket(tenantID, fmt.Sprint("key_", i), 1), noon, 7, 2); got != w {
				t.Errorf("request %d of tenant %d: %v, want %v", i, tenantID, got, w)
			}
		}
	}
	takes(1, false) // Nothing was ever written: nobody knows of this server.
	flush(t, m)
	takes(1, true, true, false)
	takes(2, true)
	m.Refunded(bucket(1, "key_0", 1), noon, 7)
	takes(1, false)
	broken = usage.ErrUnavailable
	if err := m.Flush(t.Context()); !errors.Is(err, usage.ErrUnavailable) {
		t.Fatal(err)
	}
	takes(1, false)
	takes(2, true, false)
	broken = nil
	flush(t, m)
	takes(1, true, true, false)
	takes(2, true, true, false)
}

// TestMinutesOfABatch: a count says how many requests are of its latest minute and of the one
// before.
func TestMinutesOfABatch(t *testing.T) {
	t.Parallel()
	s := &memoryStore{}
	m := newMeter(s, fixed(noon))
	for _, minute := range []int64{5, 6, 6, 7, 6, 7, 7, 5} {
		m.Admitted(bucket(1, "key_a", 1), noon, minute, usage.Unlimited)
	}
	m.Refunded(bucket(1, "key_a", 1), noon, 7)
	flush(t, m)
	if got, want := s.tried[0].Counts[0].Minutes, (usage.Minutes{Minute: 7, InMinute: 2, InPrevious: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	m.Refunded(bucket(1, "key_a", 1), noon, 7)
	flush(t, m)
	if got, want := s.tried[1].Counts[0].Minutes, (usage.Minutes{Minute: 7, InMinute: -1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestFlushesAreShared: of many that wait for a write, all share the next one.
func TestFlushesAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &memoryStore{}
		s.fail = func(int, bool) error { time.Sleep(time.Millisecond); return nil }
		m := newMeter(s, nil)
		var waiting sync.WaitGroup
		for i := range 50 {
			waiting.Go(func() {
				m.Admitted(bucket(1, fmt.Sprint("key_", i), 1), time.Now(), 7, 0)
				assert.Equal(t, m.Flush(t.Context()), nil)
			})
		}
		waiting.Wait()
		assert.True(t, len(s.tried) <= 3, len(s.tried), "writes for 50 that wait")
	})
}
