package billing_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

// TestRandomTimelines: whatever changes follow each other, and whatever arrives late, the lines of
// all months sum to what the client counted under each assignment and version, to the request. Each
// tenant's lines follow each other without gaps, and usage verify finds nothing.
func TestRandomTimelines(t *testing.T) {
	t.Parallel()
	runs := 1
	if os.Getenv("PETSTORE_SOAK") != "" {
		runs = 200
	}
	for range runs {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			flaky := &unreliable{random: rand.New(rand.NewPCG(seed, 1))}
			l := newLoad(t, seed, flaky.of)
			l.run()
			for _, d := range l.differences() {
				t.Error(d)
			}
			for _, m := range months[:3] {
				l.ctl("usage verify --month " + m)
			}
			t.Logf("%d requests; changes %v", len(l.seen), l.made)
		})
	}
}

// billed is an assignment and a version of its plan, over all months.
type billed struct {
	tenant              string
	assignment, version int64
}

// book is what the lines say of it.
type book struct {
	q        [2]int64
	from, to time.Time
	counts
}

// differences compares the lines of all months with what the client counted.
func (l *load) differences() (found []string) {
	l.t.Helper()
	books, total := map[billed]*book{}, counts{}
	for _, month := range months {
		lines, _ := l.export(month)
		found = append(found, brokenTimelines(lines)...)
		for _, line := range lines {
			if line.Void { // it takes back what others count
				continue
			}
			total = total.plus(counts{line.Admitted, line.Refused})
			of := billed{line.Tenant, line.Assignment, line.Version}
			b := books[of]
			if b == nil {
				b = &book{q: [2]int64{line.PerMinute, line.PerDay}, from: *line.From}
				books[of] = b
			}
			if line.To.After(b.to) {
				b.to = *line.To
			}
			b.counts = b.plus(counts{line.Admitted, line.Refused})
		}
	}
	// least is what must be on a line, most what may be: a server that has not heard of a change
	// may decide by what was in force before.
	least, most, sent := map[billed]counts{}, map[billed]counts{}, counts{}
	for _, r := range l.seen {
		c := counts{refused: 1}
		if r.admitted {
			c = counts{admitted: 1}
		}
		sent = sent.plus(c)
		all := r.on(books)
		for _, of := range all {
			most[of] = most[of].plus(c)
			if len(all) == 1 {
				least[of] = least[of].plus(c)
			}
		}
		if len(all) == 0 {
			found = append(found, fmt.Sprintf("no line for %+v", r))
		}
	}
	if total != sent {
		found = append(found, fmt.Sprintf("all months have %+v, sent were %+v", total, sent))
	}
	for of, b := range books {
		if !b.within(least[of], most[of]) {
			found = append(found, fmt.Sprintf("%+v has %+v, sent were %+v to %+v", of, b.counts, least[of], most[of]))
		}
	}
	slices.Sort(found)
	return found
}

// noticeTime is how long after a change a server may not have heard of it.
const noticeTime = 300 * time.Millisecond

// on returns where a request may belong: to the periods in force then, or at most noticeTime
// before, that have the numbers which the response showed. It is nearly always one.
func (r response) on(books map[billed]*book) (all []billed) {
	for k, b := range books {
		if k.tenant == r.tenant && b.q == r.q && !b.from.After(r.at) && b.to.After(r.at.Add(-noticeTime)) {
			all = append(all, k)
		}
	}
	return all
}

// within reports whether the counts are in these bounds.
func (c counts) within(least, most counts) bool {
	return c.admitted >= least.admitted && c.refused >= least.refused && c.admitted <= most.admitted &&
		c.refused <= most.refused
}

// brokenTimelines compares where each line of a month ends with where the tenant's next one begins.
func brokenTimelines(lines []line) (found []string) {
	last := map[string]line{}
	for _, l := range lines {
		if l.Corrects != "" || l.From.Equal(*l.To) {
			continue
		}
		if before, ok := last[l.Tenant]; ok && !before.To.Equal(*l.From) {
			found = append(
				found,
				fmt.Sprintf("%s: a line ends at %v, and the next begins at %v", l.Tenant, before.To, l.From),
			)
		}
		last[l.Tenant] = l
	}
	for tenant, l := range last {
		if end := l.To; end.Day() != 1 || !end.Equal(end.Truncate(24*time.Hour)) {
			found = append(found, fmt.Sprintf("%s: the last line of %s ends at %v", tenant, l.Month, end))
		}
	}
	return found
}
