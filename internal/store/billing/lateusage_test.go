package billing_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/usage"
)

// TestLateUsage: what arrives after the month was closed is a correction in the next, refunds too,
// and a repeated batch is none.
func TestLateUsage(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Close(t, fixture.Oct)
	before := b.Lines(t, fixture.Oct)
	hour := fixture.Oct.AddDate(0, 0, 19).Add(10 * time.Hour)
	b.Deliver(
		t,
		"s3",
		fixture.Nov,
		fixture.Used(fixture.Business, hour, 7, 3),
		fixture.Used(fixture.Business, hour.Add(time.Hour), 100, 0),
		fixture.Used(fixture.Business, fixture.Nov, 5, 0),
	)
	again := usage.Batch{ServerID: "s3", Number: 1, Counts: []usage.Count{fixture.Used(fixture.Business, hour, 7, 3)}}
	assert.NoError(t, b.API.Usage.WriteUsage(t.Context(), again))
	assert.DeepEqual(t, b.Lines(t, fixture.Oct), before, "the closed month changed -before +after")
	correction := func() (admitted, refused int64) {
		for _, l := range b.Lines(t, fixture.Nov) {
			if l.Corrects == "2025-10" && l.Assignment == fixture.Business {
				admitted, refused = admitted+l.Admitted, refused+l.Refused
			}
		}
		return admitted, refused
	}
	if a, r := correction(); a != 107 || r != 3 {
		t.Errorf("correction of %d and %d, want 107 and 3", a, r)
	}
	b.Close(t, fixture.Nov)
	for _, m := range []time.Time{fixture.Oct, fixture.Nov} {
		assert.Equal(t, b.Verify(t, m), "", m)
	}
	if a, r := correction(); a != 107 || r != 3 {
		t.Errorf("sealed correction of %d and %d, want 107 and 3", a, r)
	}
	b.Deliver(
		t,
		"s3",
		fixture.Nov,
		fixture.Used(fixture.Business, hour, 1, 0),
		fixture.Used(fixture.Business, fixture.Nov, 2, 0),
	)
	var got []string
	for _, l := range b.Lines(t, fixture.Dec) {
		if l.Corrects != "" {
			got = append(
				got,
				fmt.Sprintf("%s %d %v to %v", l.Corrects, l.Admitted, l.From.Format("01-02"), l.To.Format("01-02")),
			)
		}
	}
	if diff := cmp.Diff([]string{"2025-10 1 10-20 to 11-01", "2025-11 2 11-01 to 12-01"}, got); diff != "" {
		t.Errorf("corrections of December (-want +got):\n%s", diff)
	}
}

// TestLateRefunds lower what a closed hour has, in the next month, to 0 at most.
func TestLateRefunds(t *testing.T) {
	t.Parallel()
	b := fixture.NewBooks(t)
	hour := time.Now().UTC().Truncate(time.Hour)
	b.Deliver(t, "s1", hour, fixture.Used(fixture.Business, hour, 5, 0))
	// As if this month were over.
	b.Exec(t, `insert into usage_months (month) values ($1)`, hour.Format("2006-01")+"-01")
	next := hour.AddDate(0, 0, 1-hour.Day()).Truncate(24*time.Hour).AddDate(0, 1, 0)
	for i, step := range []struct{ admitted, want int64 }{{-2, -2}, {3, 1}, {-4, -3}, {-100, -5}, {-1, -5}, {2, -3}} {
		b.Deliver(t, "s1", hour, fixture.Used(fixture.Business, hour, step.admitted, 0))
		got := int64(0)
		for _, l := range b.Lines(t, next) {
			if l.Corrects != "" {
				got += l.Admitted
			}
		}
		assert.Equal(t, got, step.want, "step", i, "the correction")
	}
	b.Deliver(t, "s1", hour, fixture.Used(fixture.Business, hour.AddDate(0, 0, -40), -1, 0))
	b.Want(t, "0", `select count(*) from usage_late where hour < now() - interval '2 days'`)
	assert.Equal(t, b.Text(t, `select sum(admitted) from usage_hourly`), "5", "the closed month has now")
}

// TestClosingWhileUsageArrives: each request is in the closed month or in a correction, never in
// both and never in none.
func TestClosingWhileUsageArrives(t *testing.T) {
	t.Parallel()
	b := fixture.NewBooks(t)
	const servers, batches = 4, 50
	var wg sync.WaitGroup
	begun := make(chan struct{}, servers)
	for s := range servers {
		wg.Go(func() {
			for n := range batches {
				hour := fixture.Oct.Add(time.Duration(n) * time.Hour)
				err := b.API.Usage.WriteUsage(t.Context(), usage.Batch{
					ServerID: fmt.Sprint(
						"s",
						s,
					),
					Number:      int64(n + 1),
					DeliveredTo: fixture.Nov,
					Counts:      []usage.Count{fixture.Used(fixture.Pro, hour, 1, 1)},
				})
				assert.Equal(t, err, nil)
				if n == 5 {
					begun <- struct{}{}
				}
			}
		})
	}
	for range servers {
		<-begun
	}
	m := b.Close(t, fixture.Oct)
	wg.Wait()
	late := int64(0)
	for _, l := range b.Lines(t, fixture.Nov) {
		late += l.Admitted
	}
	if m.Sums.Admitted+late != servers*batches || m.Sums.Admitted == 0 {
		t.Errorf("%d sealed and %d late, want %d in all", m.Sums.Admitted, late, servers*batches)
	}
	assert.Equal(t, b.Verify(t, fixture.Oct), "")
}
