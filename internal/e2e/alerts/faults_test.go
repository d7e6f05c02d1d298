package alerts_test

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/lib/pq"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// fault is made and mended. Meanwhile alerts must fire, each on that many servers, or without a
// number on one at least, and afterwards they must end. Usage lags only on a server that was
// recording some when Postgres went.
type fault struct {
	name       string
	make, mend func(*deployment)
	alerts     []string
	// check is the one of doctor that finds the fault too, "" if the database does not know of it.
	check string
}

var faults = []fault{
	{
		name:   "Redis away",
		check:  "limits",
		make:   func(f *deployment) { f.redis.Stop() },
		mend:   func(f *deployment) { f.redis.Start() },
		alerts: []string{"PetstoreLimitsDegraded 3"},
	},
	{
		name:   "one server cut off from Redis",
		check:  "reports",
		make:   func(f *deployment) { f.toTwo.set(true) },
		mend:   func(f *deployment) { f.toTwo.set(false) },
		alerts: []string{"PetstoreLimitsCutOff 1"},
	},
	{
		name: "the clock of Postgres is another one than the servers'", check: "clocks",
		make: func(f *deployment) { f.shiftClock("3 seconds") }, mend: func(f *deployment) { f.shiftClock("0") },
		alerts: []string{"PetstoreClockOff 3"},
	},
	{
		name: "a server is killed", check: "servers",
		make: func(f *deployment) { f.servers[1].Kill() }, mend: func(f *deployment) { f.start(1) },
		alerts: []string{"PetstoreServerDown 1"},
	},
	{
		name:  "Postgres away",
		check: "database",
		make:  func(f *deployment) { f.postgres.set(true) },
		mend:  func(f *deployment) { f.postgres.set(false) },
		alerts: []string{
			"PetstoreChangeFeedDown 3",
			"PetstoreDatabaseDown 3",
			"PetstoreErrorBudgetBurnsFast 1",
			"PetstoreTermLost 3",
			"PetstoreUsageLag",
		},
	},
}

// long are alerts whose windows are so long that no test waits for their end: rules_test.yml has
// it.
var long = []string{"PetstoreErrorBudgetBurnsFast 1"}

// TestAlertsFireAndEnd makes one fault after the other under a light load.
func TestAlertsFireAndEnd(t *testing.T) {
	t.Parallel()
	f := newDeployment(t)
	f.load()
	p := newPrometheus(t, []targets{{Targets: f.admins()}}, "")
	p.reaches(len(f.servers))
	f.try(p, faults)
}

// try makes one fault after the other.
func (f *deployment) try(p *prometheus, faults []fault) {
	t := f.t
	t.Helper()
	for _, fault := range faults {
		ends(t, p, fault) // Otherwise a busy machine may have made it fire before.
		began := time.Now()
		fault.make(f)
		// What is over in seconds may be missed by the scrapes of a busy machine: the eviction.
		for again := 2; !fires(t, p, fault); again-- {
			if again == 0 {
				t.Fatalf("%s: not within %v, three times: %s", fault.name, wait.Limit, strings.Join(fault.alerts, ", "))
			}
			fault.mend(f)
			ends(t, p, fault)
			fault.make(f)
		}
		fired := time.Since(began)
		if fault.check != "" {
			f.doctorFinds(fault.check)
		}
		fault.mend(f)
		ends(t, p, fault)
		t.Logf(
			"%s: %s fired after %v, ended after %v",
			fault.name,
			strings.Join(fault.alerts, ", "),
			fired.Round(100*time.Millisecond),
			(time.Since(began) - fired).Round(100*time.Millisecond),
		)
	}
}

// fires waits for the fault's alerts, and returns whether they all fire.
func fires(t *testing.T, p *prometheus, f fault) bool {
	t.Helper()
	var firing []string
	defer func() { t.Logf("%s: firing %v", f.name, firing) }()
	silent := func(want string) bool {
		return !slices.ContainsFunc(
			firing,
			func(alert string) bool { return alert == want || strings.HasPrefix(alert, want+" ") },
		)
	}
	// between two looks
	for end := time.Now().Add(wait.Limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if firing = p.firing(); !slices.ContainsFunc(f.alerts, silent) {
			return true
		}
	}
	return false
}

// ends waits for the end of the fault's alerts, on all servers. On a busy machine others may fire.
func ends(t *testing.T, p *prometheus, f fault) {
	t.Helper()
	var firing []string
	defer func() { t.Logf("%s: then firing %v", f.name, firing) }()
	wait.Until(t, "the end of "+strings.Join(f.alerts, ", "), func() bool {
		time.Sleep(100 * time.Millisecond) // between two looks
		firing = p.firing()
		return !slices.ContainsFunc(firing, func(alert string) bool {
			sameAlert := func(other string) bool { return strings.Fields(other)[0] == strings.Fields(alert)[0] }
			return slices.ContainsFunc(f.alerts, sameAlert) && !slices.ContainsFunc(long, sameAlert)
		})
	})
}

// doctorFinds waits until that check of petstorectl doctor is not ok. A server that was killed
// counts as alive for five seconds.
func (f *deployment) doctorFinds(check string) {
	f.t.Helper()
	wait.Until(f.t, "doctor finds something wrong with "+check, func() bool {
		cmd := sandbox.Command(f.t, programs.Path(f.t, "petstorectl"), "doctor", "-o", "json")
		cmd.Env = append(cmd.Env, "PETSTORE_DATABASE_URL="+f.staffURL)
		out, _ := cmd.Output() // It fails if a check does.
		var findings []struct{ Check, Status, Detail string }
		assert.NoError(f.t, json.Unmarshal(out, &findings), "doctor", out)
		for _, found := range findings {
			if found.Check == check && (found.Status == "warn" || found.Status == "fail") {
				f.t.Logf("doctor: %s %s: %s", found.Status, found.Check, found.Detail)
				return true
			}
		}
		return false
	})
}

// ownClock gives the database a clock of its own, for sessions that begin later: theirs is that of
// the machine and what shiftClock says.
func (f *deployment) ownClock() {
	f.exec(
		`create schema shifted`,
		`grant usage on schema shifted to public`,
		`create function shifted.clock_timestamp() returns timestamptz language sql volatile as
			'select pg_catalog.clock_timestamp()'`,
		`grant execute on function shifted.clock_timestamp to public`,
		`do $$ begin execute format('alter database %I set search_path = shifted, pg_catalog, public', `+
			`current_database()); end $$`,
	)
}

func (f *deployment) shiftClock(by string) {
	f.exec(`create or replace function shifted.clock_timestamp() returns timestamptz language sql volatile as
		'select pg_catalog.clock_timestamp() + interval ''` + by + `'''`)
}

func (f *deployment) exec(statements ...string) {
	f.t.Helper()
	db, err := sql.Open("postgres", f.database.URL)
	assert.NoError(f.t, err)
	defer db.Close()
	for _, statement := range statements {
		_, err := db.ExecContext(f.t.Context(), statement)
		assert.NoError(f.t, err, statement)
	}
}
