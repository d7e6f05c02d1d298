package billing_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// The quotas of the year, which no two plans share.
var (
	pro       = quota{"pro", 300, 10_000}
	free      = quota{"free", 60, 1_000}
	boosted   = quota{"pro", 1_000, 10_000}
	wider     = quota{"pro", 400, 10_000}
	narrower  = quota{"pro", 350, 9_000}
	deal      = quota{"enterprise", 5_000, 1_000_000}
	business  = quota{"business", 1_000, 100_000}
	nothing   = (*change)(nil)
	ofTheYear = []string{
		// January: a trial of 14 days, and then free. 302 requests in a minute are two too many.
		"2025-01 pro 300/10000 v1 assign 01-01T09:00 to 01-15T09:00: 303 and 2",
		"2025-01 free 60/1000 v1 end 01-15T09:00 to 02-01T00:00: 66 and 2",
		// February: bought from the first on.
		"2025-02 pro 300/10000 v1 assign 02-01T00:00 to 03-01T00:00: 14 and 0",
		// March: boosted for two days.
		"2025-03 pro 300/10000 v1 assign 03-01T00:00 to 03-10T12:00: 9 and 0",
		"2025-03 pro 1000/10000 v1 boost 03-10T12:00 to 03-12T12:00: 326 and 0",
		"2025-03 pro 300/10000 v1 end 03-12T12:00 to 04-01T00:00: 7 and 0",
		// April: a server delivers what it counted on 20 March when March is closed.
		"2025-04 pro 300/10000 v1 end 04-01T00:00 to 05-01T00:00: 12 and 0",
		"2025-04 pro 300/10000 v1 end 03-12T12:00 to 04-01T00:00: 2 and 0, corrects 2025-03",
		// May: pro is edited, and who is on it moves.
		"2025-05 pro 400/10000 v2 end 05-01T00:00 to 06-01T00:00: 409 and 2",
		// June: pro is edited again, and who is on it stays.
		"2025-06 pro 400/10000 v2 end 06-01T00:00 to 07-01T00:00: 15 and 0",
		"2025-06 pro 350/9000 v3 assign 06-20T00:00 to 07-01T00:00: 1 and 0, of zoo",
		// July: moved to the new numbers after all.
		"2025-07 pro 400/10000 v2 end 07-01T00:00 to 07-10T15:00: 9 and 0",
		"2025-07 pro 350/9000 v3 assign 07-10T15:00 to 08-01T00:00: 356 and 2",
		"2025-07 pro 350/9000 v3 assign 07-01T00:00 to 08-01T00:00: 0 and 0, of zoo",
		// August: a downgrade at the month's end.
		"2025-08 free 60/1000 v1 assign 08-01T00:00 to 09-01T00:00: 69 and 1",
		"2025-08 pro 350/9000 v3 assign 08-01T00:00 to 09-01T00:00: 0 and 0, of zoo",
		// September to November: a deal with an end. October: suspended for two days.
		"2025-09 enterprise 5000/1000000 v1 assign 09-01T00:00 to 10-01T00:00: 14 and 0",
		"2025-09 pro 350/9000 v3 assign 09-01T00:00 to 10-01T00:00: 0 and 0, of zoo",
		"2025-10 enterprise 5000/1000000 v1 assign 10-01T00:00 to 11-01T00:00: 15 and 0, suspended 172800 s",
		"2025-10 pro 350/9000 v3 assign 10-01T00:00 to 11-01T00:00: 0 and 0, of zoo",
		"2025-11 enterprise 5000/1000000 v1 assign 11-01T00:00 to 12-01T00:00: 9 and 0",
		"2025-11 pro 350/9000 v3 assign 11-01T00:00 to 12-01T00:00: 0 and 0, of zoo",
		// December: what the deal said should follow.
		"2025-12 business 1000/100000 v1 end 12-01T00:00 to 01-01T00:00: 14 and 0",
		"2025-12 pro 350/9000 v3 assign 12-01T00:00 to 01-01T00:00: 0 and 0, of zoo",
	}
)

// TestAYearOfOneTenant tells the year of acme. At each boundary every server responds by the quota
// of before until the last microsecond, and by the next one from the instant on, in all headers and
// in GET /v1/usage, which names what comes. Each month is closed, its lines are what the load
// counted, and at the end of the year it exports the same bytes as on the day when it was closed.
// See doc.go for what is real in it.
func TestAYearOfOneTenant(t *testing.T) {
	t.Parallel()
	y := &year{
		fixture: newFixture(t, instant(t, "2025-01-01 09:00"), honest),
		used:    map[int64]int64{},
		exports: map[string]string{},
	}
	y.ctl("tenant create acme --plan pro --until +14d --then free --reason trial")
	y.key = y.issue("acme")
	y.inForce, y.next = pro, &change{instant(t, "2025-01-15 09:00"), free}
	y.load("2025-01-10 12:00", 302)

	y.crosses("2025-01-15 09:00", free, nothing)
	y.run(
		"2025-01-20 12:00",
		"plan assign acme pro --from 2025-02-01 --reason signed",
		&change{instant(t, "2025-02-01 00:00"), pro},
	)
	y.load("2025-01-20 12:01", 62)
	y.crosses("2025-02-01 00:00", pro, nothing)
	y.closes("2025-01", "")
	y.load("2025-02-14 12:00", 5)

	y.crosses("2025-03-01 00:00", pro, nothing)
	y.closes("2025-02", "")
	y.crosses("2025-03-10 12:00", boosted, &change{instant(t, "2025-03-12 12:00"), pro},
		"plan boost acme --per-minute 1000 --until 48h --reason launch")
	y.load("2025-03-11 12:00", 320)
	y.crosses("2025-03-12 12:00", pro, nothing)
	y.cutOff = true
	y.load("2025-03-20 12:00", 3)

	y.crosses("2025-04-01 00:00", pro, nothing)
	y.closes("2025-03", " --without server-3 --reason cut-off")
	y.reconnects()
	y.run(
		"2025-04-15 12:00",
		"plan edit pro --per-minute 400 --from 2025-05-01 --reason 2025",
		&change{instant(t, "2025-05-01 00:00"), wider},
	)
	y.load("2025-04-20 12:00", 3)
	y.crosses("2025-05-01 00:00", wider, nothing)
	y.closes("2025-04", "")
	y.load("2025-05-20 12:00", 402)

	y.crosses("2025-06-01 00:00", wider, nothing)
	y.closes("2025-05", "")
	y.crosses("2025-06-15 12:00", wider, nothing, "plan edit pro --per-minute 350 --per-day 9000 --keep-existing")
	y.someoneNew("2025-06-20 00:00", narrower)
	y.crosses("2025-07-01 00:00", wider, nothing)
	y.closes("2025-06", "")
	y.crosses("2025-07-10 15:00", narrower, nothing, "plan move pro acme --reason agreed")
	y.load("2025-07-15 12:00", 352)

	y.run(
		"2025-07-20 12:00",
		"plan assign acme free --from 2025-08-01 --reason less",
		&change{instant(t, "2025-08-01 00:00"), free},
	)
	y.crosses("2025-08-01 00:00", free, nothing)
	y.closes("2025-07", "")
	y.load("2025-08-15 12:00", 61)
	y.run(
		"2025-08-20 12:00",
		"plan assign acme enterprise --per-minute 5000 --per-day 1000000 --from 2025-09-01 --until 2025-12-01 "+
			"--then business --reason deal",
		&change{instant(t, "2025-09-01 00:00"), deal},
	)
	y.crosses("2025-09-01 00:00", deal, &change{instant(t, "2025-12-01 00:00"), business})
	y.closes("2025-08", "")
	y.load("2025-09-15 12:00", 5)

	y.crosses("2025-10-01 00:00", deal, y.next)
	y.closes("2025-09", "")
	y.suspended("2025-10-10 12:00", "2025-10-12 12:00")
	y.crosses("2025-11-01 00:00", deal, y.next)
	y.closes("2025-10", "")

	y.crosses("2025-12-01 00:00", business, nothing)
	y.closes("2025-11", "")
	y.load("2025-12-15 12:00", 5)
	y.crosses("2026-01-01 00:00", business, nothing)
	y.closes("2025-12", "")
	y.checkYear()
}

// checkYear compares all exports with the story, and with what they were when each month was
// closed.
func (y *year) checkYear() {
	y.t.Helper()
	var got []string
	for m := instant(y.t, "2025-01-01 00:00"); m.Year() == 2025; m = m.AddDate(0, 1, 0) {
		month := m.Format("2006-01")
		lines, total := y.export(month)
		got = append(got, lineTexts(lines)...)
		var sums counts
		for _, l := range lines {
			sums = sums.plus(counts{l.Admitted, l.Refused})
		}
		if sums != (counts{total.Admitted, total.Refused}) || total.SHA256 == "" {
			y.t.Errorf("%s: the lines sum to %+v, the total is %+v", month, sums, total)
		}
		if again := y.ctl("usage export --month " + month); again != y.exports[month] {
			y.t.Errorf("%s changed after it was closed:\n%s", month, cmp.Diff(y.exports[month], again))
		}
		assert.Contains(y.t, y.ctl("usage verify --month "+month), month, "verify")
	}
	assert.DeepEqual(y.t, got, ofTheYear, "lines of the year -story +exports")
}

// honest records what the servers counted.
func honest(s usage.Store) usage.Store { return s }

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", text)
	assert.NoError(t, err)
	return at
}
