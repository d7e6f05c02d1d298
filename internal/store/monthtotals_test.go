package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/usage"
	"petstore.example/internal/usage/closing"
)

// TestTotalsConserve: three servers deliver usage of random hours while month after month is closed. At any time the lines of all months
// add up to what was delivered, by assignment and by the month of the requests, and no closed month changes.
func TestTotalsConserve(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	b := newBooks(t)
	months := []time.Time{sept, oct, nov, dec}
	want := map[string]int64{} // requests by their month and assignment
	closed := map[time.Time][]closing.Line{}
	for round := range len(months) * 3 {
		for range 5 {
			var counts []usage.Count
			for range 1 + random.IntN(4) {
				month := months[random.IntN(len(months))]
				c := used(1+2*random.Int64N(2), month.Add(time.Duration(random.IntN(28*24))*time.Hour), 1+random.Int64N(100), random.Int64N(3))
				counts = append(counts, c)
				want[fmt.Sprint(month.Format("2006-01"), " ", c.Assignment)] += c.Admitted + c.Refused
			}
			b.deliver(t, fmt.Sprint("s", random.IntN(3)), time.Time{}, counts...)
		}
		if n := round / 3; round%3 == 1 && n < len(months)-1 {
			b.close(t, months[n])
			closed[months[n]] = b.lines(t, months[n])
		}
		if diff := cmp.Diff(want, b.total(t, months)); diff != "" {
			t.Fatalf("seed %d, round %d: requests by month and assignment (-delivered +lines):\n%s", seed, round, diff)
		}
	}
	for month, lines := range closed {
		if diff := cmp.Diff(lines, b.lines(t, month)); diff != "" {
			t.Errorf("seed %d: %v has changed (-sealed +now):\n%s", seed, month, diff)
		}
		if d := b.verify(t, month); d != "" {
			t.Errorf("seed %d: %v: %s", seed, month, d)
		}
	}
}

// total sums the lines of all months by the month of the requests and the assignment.
func (b *books) total(t *testing.T, months []time.Time) map[string]int64 {
	t.Helper()
	sums := map[string]int64{}
	for _, month := range months {
		for _, l := range b.lines(t, month) {
			of := l.Month
			if l.Corrects != "" {
				of = l.Corrects
			}
			if n := l.Admitted + l.Refused; n != 0 {
				sums[fmt.Sprint(of, " ", l.Assignment)] += n
			}
		}
	}
	return sums
}

// TestServersDoNotWaitForClosing: while a batch keeps a month from being closed, other batches are recorded within the time of a call.
func TestServersDoNotWaitForClosing(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.fill(t)
	slow, err := b.owner.BeginTxx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	slow.MustExec(`lock table usage_months in row share mode`)
	done := make(chan error, 1)
	go func() {
		_, err := b.billing.Months.Close(t.Context(), bill, oct, nil)
		done <- err
	}()
	deadline := time.Now().Add(time.Second)
	for n := 0; time.Now().Before(deadline); n++ {
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
	if err := slow.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
