package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"petstore.example/internal/store/billing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
	"petstore.example/internal/usage/closing"
	"petstore.example/internal/usage/events"
)

// history is of random changes: what three servers delivered, by the month of the requests and the assignment, of assignments of two tenants.
type history struct {
	*books

	random      *rand.Rand
	assignments []usage.Bucket
	delivered   map[string]int64
	months      []time.Time
	closed      map[time.Time][]closing.Line
	// sent is what a receiver was sent so far of each tenant, and sentIn in each month of each assignment. marked were void once.
	sent   map[int64]int64
	sentIn map[inMonth]int64
	marked map[int64]bool
}

type inMonth struct {
	month      string
	assignment int64
}

// TestTotalsConserve: at any time, whatever is assigned, void or restored, delivered late and closed, the lines of all months add up for each
// tenant to the events of all hours, and to what a receiver was sent; of what was never void in each month. Those that are not void add up to
// what was delivered, and no closed month changes.
func TestTotalsConserve(t *testing.T) {
	t.Parallel()
	taken := 0
	for _, seed := range []uint64{1, 3} { // in both, closed months take back lines of earlier ones
		h := &history{
			newBooks(t), rand.New(rand.NewPCG(seed, 0)), []usage.Bucket{{TenantID: acme, Assignment: pro}, {TenantID: zoo, Assignment: free}},
			map[string]int64{}, []time.Time{sept, oct, nov, dec}, map[time.Time][]closing.Line{},
			map[int64]int64{}, map[inMonth]int64{}, map[int64]bool{},
		}
		for step := range 40 {
			h.step(t)
			h.check(t)
			if t.Failed() {
				t.Fatalf("seed %d fails at step %d", seed, step)
			}
		}
		for _, lines := range h.closed {
			for _, l := range lines {
				if l.Void && l.Corrects < l.Month && l.Admitted < 0 {
					taken++
				}
			}
		}
	}
	assert.True(t, taken >= 2, "closed months take back", taken, "lines of earlier ones")
}

func (h *history) step(t *testing.T) {
	t.Helper()
	next := h.months[len(h.closed)]
	switch h.random.IntN(8) {
	case 0:
		a := usage.Bucket{TenantID: 1 + h.random.Int64N(2)}
		assert.NoError(t, h.owner.Get(&a.Assignment, `insert into tenant_plans (tenant_id, valid_from, plan) values ($1, $2, $3) returning id`,
			a.TenantID, next.Add(time.Duration(h.random.IntN(1e6))*time.Second), []string{"free", "pro", "business"}[h.random.IntN(3)]))
		h.assignments = append(h.assignments, a)
	case 1, 2:
		h.mark(t)
	case 3:
		if next.Equal(dec) {
			return
		}
		if h.random.IntN(2) == 0 {
			h.exec(t, `select begin_closing($1, '{}')`, next)
			h.mark(t)
		}
		h.close(t, next)
		h.closed[next] = h.lines(t, next)
	default:
		of, month := h.assignments[h.random.IntN(len(h.assignments))], h.months[h.random.IntN(len(h.months))]
		c := used(of.Assignment, month.Add(time.Duration(h.random.IntN(4))*100*time.Hour), 1+h.random.Int64N(100), h.random.Int64N(3))
		c.TenantID, c.KeyID = of.TenantID, fmt.Sprint("key_000000000000000", of.TenantID)
		h.deliver(t, fmt.Sprint("s", h.random.IntN(3)), time.Time{}, c)
		h.delivered[fmt.Sprint(month.Format("2006-01"), " ", c.Assignment)] += c.Admitted + c.Refused
	}
}

// mark marks one of the assignments as void, or restores it.
func (h history) mark(t *testing.T) {
	t.Helper()
	id := h.assignments[h.random.IntN(len(h.assignments))].Assignment
	h.marked[id] = true
	h.exec(t, `update tenant_plans set voided_at = case when voided_at is null then clock_timestamp() end,
		void_reason = case when voided_at is null then 'a mistake' end where id = $1`, id)
}

func (h history) check(t *testing.T) {
	t.Helper()
	lines, linesIn, delivered, said := map[int64]int64{}, map[inMonth]int64{}, map[string]int64{}, map[string]bool{}
	for _, month := range append(h.months, dec.AddDate(0, 1, 0)) {
		for _, l := range h.lines(t, month) {
			of := l.Month
			if l.Corrects != "" {
				of = l.Corrects
			}
			key, n := fmt.Sprint(of, " ", l.Assignment), l.Admitted+l.Refused
			lines[l.TenantID] += n
			if n != 0 {
				linesIn[inMonth{l.Month, l.Assignment}] += n
			}
			switch {
			case !l.Void && n != 0:
				delivered[key] += n
			case l.Void && n == 0 && said[key]:
				t.Errorf("%s: it is said again that this is void", key)
			}
			said[key] = said[key] || l.Void
		}
	}
	all := map[int64]int64{}
	for _, e := range h.send(t, "") {
		all[e.TenantID] += e.Admitted + e.Refused
	}
	for _, e := range h.send(t, "r") {
		h.sent[e.TenantID] += e.Admitted + e.Refused
		h.sentIn[inMonth{e.At.Format("2006-01"), e.Assignment}] += e.Admitted + e.Refused
	}
	for _, tenant := range []int64{acme, zoo} {
		if lines[tenant] != all[tenant] || lines[tenant] != h.sent[tenant] {
			t.Errorf("tenant %d: the lines add up to %d, the events to %d, %d were sent", tenant, lines[tenant], all[tenant], h.sent[tenant])
		}
	}
	everVoid := cmpopts.IgnoreMapEntries(func(of inMonth, _ int64) bool { return h.marked[of.assignment] })
	if diff := cmp.Diff(h.sentIn, linesIn, everVoid); diff != "" {
		t.Errorf("requests by month (-sent +lines):\n%s", diff)
	}
	assert.DeepEqual(t, delivered, h.delivered, "requests by month and assignment -delivered +lines")
	for month, sealed := range h.closed {
		assert.DeepEqual(t, h.lines(t, month), sealed, month, "has changed -sealed +now")
		if d := h.verify(t, month); d != "" {
			t.Errorf("%v: %s", month, d)
		}
	}
}

// send returns the events of all hours.
func (h history) send(t *testing.T, receiver string) []events.Event {
	t.Helper()
	var s sink
	q := billing.EventQuery{From: sept, To: time.Now().Add(time.Hour), Receiver: receiver, Format: events.CloudEvents}
	assert.NoError(t, h.billing.Events.Send(t.Context(), bill, q, &s))
	return s.got
}

// TestServersDoNotWaitForClosing: while a batch keeps a month from being closed, other batches are recorded within the time of a call.
func TestServersDoNotWaitForClosing(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.fill(t)
	slow, err := b.owner.BeginTxx(t.Context(), nil)
	assert.NoError(t, err)
	slow.MustExec(`lock table usage_months in row share mode`)
	done := make(chan error, 1)
	go func() {
		_, err := b.billing.Months.Close(t.Context(), bill, oct, nil)
		done <- err
	}()
	for n := range 5 {
		began := time.Now()
		b.deliver(t, "s2", nov, used(business, nov, 1, 0))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("batch %d took %v", n, took)
		}
	}
	select {
	case err := <-done:
		t.Errorf("closed while a batch was under way: %v", err)
	default:
	}
	assert.NoError(t, slow.Commit())
	if err := <-done; err != nil {
		t.Error(err)
	}
}
