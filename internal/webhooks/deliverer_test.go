package webhooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"petstore.example/internal/test/assert"
)

// memoryOutbox hands out each batch once.
type memoryOutbox struct {
	mu sync.Mutex
	// healthy and failing are not claimed yet.
	healthy, failing []Batch
	endpoints        int64
	// refuse is called with the results of each Finish.
	refuse func([]Result) error
	stale  []StoredSecret

	claims   []time.Time
	asked    [][2]int
	stored   map[int64]Result
	order    []int64
	finishes []int
	reported [][]string
	relays   []*string
	resealed []StoredSecret
	pruned   int
	told     int
}

var errRefused, errAway = errors.New("invalid byte sequence"), errors.New("no connection")

func (o *memoryOutbox) Claim(_ context.Context, _ uuid.UUID, _ []string, healthy, failing int) ([]Batch, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.claims, o.asked = append(o.claims, time.Now()), append(o.asked, [2]int{healthy, failing})
	healthy, failing = min(healthy, len(o.healthy)), min(failing, len(o.failing))
	batches := slices.Concat(o.healthy[:healthy], o.failing[:failing])
	o.healthy, o.failing = o.healthy[healthy:], o.failing[failing:]
	return batches, nil
}

func (o *memoryOutbox) Finish(_ context.Context, _ uuid.UUID, results []Result) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finishes = append(o.finishes, len(results))
	if o.refuse != nil {
		if err := o.refuse(results); err != nil {
			return err
		}
	}
	for _, r := range results {
		o.stored[r.DeliveryID] = r
		o.order = append(o.order, r.DeliveryID)
	}
	return nil
}

func (o *memoryOutbox) Report(_ context.Context, _ uuid.UUID, keyIDs []string, relay *string) (Backlog, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reported, o.relays = append(o.reported, keyIDs), append(o.relays, relay)
	return Backlog{Endpoints: o.endpoints}, nil
}

func (o *memoryOutbox) Tell(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told++
	return nil
}

func (o *memoryOutbox) Stale(_ context.Context, keyIDs []string, limit int) ([]StoredSecret, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	stale := o.stale
	o.stale = nil
	return stale, nil
}

func (o *memoryOutbox) Reseal(_ context.Context, old StoredSecret, sealed Sealed) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resealed = append(o.resealed, StoredSecret{old.EndpointID, sealed})
	return nil
}

func (o *memoryOutbox) Prune(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pruned++
	return nil
}

// pipeAddr is the address of a pipe.
type pipeAddr struct{ net.Conn }

func (pipeAddr) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(1, 1, 1, 1), Port: 80} }

// pipes is a listener within the process, so that time is the test's.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// running is a Deliverer at work, in a bubble of synctest.
type running struct {
	*Deliverer
	stop func()
}

// run starts a Deliverer whose requests reach handle.
func run(t *testing.T, outbox *memoryOutbox, s *Sender, handle http.HandlerFunc) running {
	t.Helper()
	at := make(pipes)
	server := &http.Server{Handler: handle}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(at) })
	var connections sync.Mutex
	n := byte(0)
	s.connect = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		at <- far
		connections.Lock()
		defer connections.Unlock()
		n++ // Each connection is to an address of its own.
		return addressed{pipeAddr{near}, n}, nil
	}
	outbox.stored = map[int64]Result{}
	d := NewDeliverer(Options{
		Outbox: outbox, Sealer: s.sealer, Sender: s,
		Refused:  func(err error) bool { return errors.Is(err, errRefused) },
		OnResult: func(Result) {}, OnBacklog: func(Backlog) {}, Log: zerolog.Nop(),
	})
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { _ = d.Run(ctx) })
	return running{d, func() {
		cancel()
		working.Wait()
		close(at)
		_ = server.Shutdown(context.Background()) // It waits for handlers.
		serving.Wait()
	}}
}

type addressed struct {
	pipeAddr
	n byte
}

func (a addressed) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(1, 1, 1, a.n), Port: 80} }

// some returns batches of n deliveries, numbered through from 1.
func (s *Sender) some(batches, n int) []Batch {
	secret, _ := NewSecret()
	all := make([]Batch, batches)
	for i := range all {
		all[i] = s.batchOf("http://example.com", n, secret)
		for j := range all[i].Deliveries {
			all[i].Deliveries[j].ID = int64(i*n + j + 1)
			all[i].Deliveries[j].Body = fmt.Appendf(nil, "%d", i*n+j+1)
		}
	}
	return all
}

// outcomes are those of the deliveries 1 to n, by their first letters.
func (o *memoryOutbox) outcomes(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var text strings.Builder
	for i := range n {
		r := o.stored[int64(i+1)]
		letter := " "
		if r.Outcome != "" {
			letter = string(r.Outcome[:1])
		}
		if r.Last {
			letter = strings.ToUpper(letter)
		}
		text.WriteString(letter)
	}
	return text.String()
}

// TestBatches: deliveries go out in order, up to the first failure or for 5 s. The rest is given
// back, and the last result frees the slot.
func TestBatches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, n int)
		want   string
	}{
		"all":                   {func(http.ResponseWriter, int) {}, "dddddD"},
		"the third fails":       {failFrom(3, 500), "ddfrrR"},
		"the last fails":        {failFrom(6, 500), "dddddF"},
		"gone":                  {failFrom(2, 410), "dgrrrR"},
		"2 s each":              {func(http.ResponseWriter, int) { time.Sleep(2 * time.Second) }, "dddrrR"},
		"no answer":             {func(http.ResponseWriter, int) { time.Sleep(time.Minute) }, "frrrrR"},
		"an answer by the byte": {drip, "frrrrR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSender(t, LocalRules())
				outbox := &memoryOutbox{endpoints: 1, healthy: s.some(1, 6)}
				var got []string
				d := run(t, outbox, s, func(w http.ResponseWriter, r *http.Request) {
					text, _ := io.ReadAll(r.Body)
					got = append(got, string(text))
					c.answer(w, len(got))
				})
				time.Sleep(30 * time.Second)
				synctest.Wait()
				assert.Equal(t, outbox.outcomes(6), c.want)
				assert.DeepEqual(t, outbox.order, []int64{1, 2, 3, 4, 5, 6})
				assert.True(t, slices.IsSorted(got) && len(got) == 6-strings.Count(strings.ToLower(c.want), "r"), got)
				if failed := outbox.stored[1]; failed.Outcome == Failed {
					assert.DeepEqual(t, []any{failed.Said, failed.Took}, []any{saidTimeout, attemptTime})
				}
				time.Sleep(2 * time.Minute) // for handlers that sleep
				synctest.Wait()
				d.stop()
			})
		})
	}
}

func failFrom(first, code int) func(w http.ResponseWriter, n int) {
	return func(w http.ResponseWriter, n int) {
		if n >= first {
			w.WriteHeader(code)
		}
	}
}

func drip(w http.ResponseWriter, _ int) {
	for range 60 {
		_, _ = io.WriteString(w, "a")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(time.Second)
	}
}

// TestWorkers: a server has at most 64 requests in flight, 16 of them to endpoints that fail. These
// take none from the others, and results make room at once.
func TestWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t, LocalRules())
		all := s.some(200, 1)
		for i := range 100 {
			all[i].Failing = true
		}
		outbox := &memoryOutbox{endpoints: 1, failing: all[:100], healthy: all[100:]}
		var mu sync.Mutex
		flying, most := [2]int{}, [2]int{}
		d := run(t, outbox, s, func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			var id int
			_, _ = fmt.Sscan(string(text), &id)
			kind, takes, status := 1, time.Second, http.StatusOK
			if id <= 100 {
				// Before the sender gives up: the receiver would notice that later than the sender.
				kind, takes, status = 0, 9*time.Second, http.StatusInternalServerError
			}
			mu.Lock()
			flying[kind]++
			most[kind] = max(most[kind], flying[kind])
			mu.Unlock()
			time.Sleep(takes)
			mu.Lock()
			flying[kind]--
			mu.Unlock()
			w.WriteHeader(status)
		})
		time.Sleep(3*time.Second + 500*time.Millisecond)
		synctest.Wait()
		assert.Equal(t, outbox.outcomes(200)[100:], strings.Repeat("D", 100), "100 take three turns of 48")
		time.Sleep(time.Minute + 10*time.Second)
		synctest.Wait()
		assert.Equal(t, outbox.outcomes(200)[:100], strings.Repeat("F", 100))
		assert.DeepEqual(t, most, [2]int{failingWorkers, healthyWorkers})
		assert.True(t, MaxEndpoints*Slots <= (healthyWorkers+failingWorkers)/4, "a tenant has more than a quarter")
		d.stop()
	})
}

// TestIdleServers: the outbox is asked each 100 ms, and not at all while there is no endpoint. One
// that comes is noticed within 5 s.
func TestIdleServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outbox := &memoryOutbox{}
		d := run(t, outbox, newSender(t, LocalRules()), nil)
		// asked returns how often the outbox was asked for each.
		asked := func() (claims, reports, told, pruned int) {
			outbox.mu.Lock()
			defer outbox.mu.Unlock()
			return len(outbox.claims), len(outbox.reported), outbox.told, outbox.pruned
		}
		time.Sleep(time.Minute - time.Millisecond)
		claims, reports, told, pruned := asked()
		assert.DeepEqual(t, []int{claims, reports, told, pruned}, []int{0, 12, 2, 1})
		outbox.mu.Lock()
		outbox.endpoints = 1
		outbox.mu.Unlock()
		time.Sleep(6 * time.Second)
		before, _, _, _ := asked()
		time.Sleep(10 * time.Second)
		claims, _, _, _ = asked()
		assert.Equal(t, claims-before, 100)
		time.Sleep(time.Hour)
		_, _, _, pruned = asked()
		assert.Equal(t, pruned, 2)
		d.stop()
		assert.Equal(t, outbox.asked[0], [2]int{healthyWorkers, failingWorkers})
	})
}

// TestFinishes: results are stored together. If Postgres refuses one of them, the others are stored
// all the same; while it is away, nothing is lost.
func TestFinishes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuse   func([]Result) error
		want     string
		finishes []int
	}{
		"together": {nil, "DDDD", []int{4}},
		"one is refused": {func(results []Result) error {
			if slices.ContainsFunc(results, func(r Result) bool { return r.DeliveryID == 2 }) {
				return errRefused
			}
			return nil
		}, "D DD", []int{4, 1, 1, 1, 1}},
		"away for 3 s": {func() func([]Result) error {
			begun := time.Time{}
			return func([]Result) error {
				if begun.IsZero() {
					begun = time.Now()
				}
				if time.Since(begun) < 3*time.Second {
					return errAway
				}
				return nil
			}
		}(), "DDDD", []int{4, 4, 4, 4}},
		"away": {func([]Result) error { return errAway }, "    ", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSender(t, LocalRules())
				outbox := &memoryOutbox{endpoints: 1, healthy: s.some(4, 1), refuse: c.refuse}
				d := run(t, outbox, s, func(http.ResponseWriter, *http.Request) {})
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Equal(t, outbox.outcomes(4), c.want)
				if c.finishes == nil { // They are tried again until their lease has ended.
					tries := len(outbox.finishes)
					assert.True(t, tries >= 30, tries)
					time.Sleep(time.Minute)
					assert.Equal(t, len(outbox.finishes), tries)
				} else {
					assert.DeepEqual(t, outbox.finishes, c.finishes)
				}
				d.stop()
			})
		})
	}
}

// TestStop: what is in flight may end within 5 s, the rest is given back, and all is stored before
// Run returns.
func TestStop(t *testing.T) {
	t.Parallel()
	for takes, want := range map[time.Duration]string{4 * time.Second: "drR", 9 * time.Second: "rrR"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSender(t, LocalRules())
				outbox := &memoryOutbox{endpoints: 1, healthy: s.some(1, 3)}
				d := run(t, outbox, s, func(_ http.ResponseWriter, r *http.Request) {
					select {
					case <-time.After(takes):
					case <-r.Context().Done():
					}
				})
				time.Sleep(time.Millisecond + pollEvery)
				synctest.Wait()
				stopped := time.Now()
				d.stop()
				assert.Equal(t, outbox.outcomes(3), want)
				assert.True(t, time.Since(stopped) < 10*time.Second, time.Since(stopped))
			})
		})
	}
}

// TestSecretsThatAreNotOurs: a batch that can't be signed waits, and is no attempt.
func TestSecretsThatAreNotOurs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t, LocalRules())
		batches := s.some(1, 2)
		batches[0].EndpointID++ // Its secrets are those of another endpoint.
		outbox := &memoryOutbox{endpoints: 1, healthy: batches}
		d := run(t, outbox, s, nil)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, outbox.outcomes(2), "rR")
		assert.Equal(t, outbox.stored[1].RetryAfter, unsealable)
		d.stop()
	})
}

// TestResealing: secrets under the second key are sealed with the first. Without a key a server
// reports that, and claims nothing.
func TestResealing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := NewKey(), NewKey()
		secret, _ := NewSecret()
		old := newSealer(t, second)
		foreign := newSealer(t, NewKey())
		s := NewSender(LocalRules(), newSealer(t, first, second), base, time.Now)
		outbox := &memoryOutbox{stale: []StoredSecret{{6, foreign.Seal(6, secret)}, {7, old.Seal(7, secret)}}}
		d := run(t, outbox, s, nil)
		time.Sleep(time.Second)
		synctest.Wait()
		d.stop()
		assert.Equal(t, len(outbox.resealed), 1)
		got, err := newSealer(t, first).Open(7, outbox.resealed[0].Sealed)
		assert.Result(t, string(got), err, string(secret))
		assert.DeepEqual(t, outbox.reported, [][]string{s.sealer.KeyIDs()})
		assert.True(t, outbox.relays[0] == nil, "a relay")

		outbox = &memoryOutbox{endpoints: 1}
		relay := func() string { return "no route" }
		off := NewDeliverer(Options{Outbox: outbox, Relay: relay, OnBacklog: func(Backlog) {}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.ErrorIs(t, off.Run(ctx), context.DeadlineExceeded)
		assert.DeepEqual(t, []int{len(outbox.claims), len(outbox.reported[0])}, []int{0, 0})
		assert.Equal(t, *outbox.relays[0], "no route")
	})
}
