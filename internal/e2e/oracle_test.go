package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/oracle"
	"petstore.example/internal/test/wait"
)

// TestOracle sends requests to three servers while a nemesis makes faults by a seed. A checker that
// knows nothing of our code judges what the clients saw. With PETSTORE_E2E_LOGS the records of a
// seed stay there. The seed draws the faults and the requests; what meets what is the machine's.
func TestOracle(t *testing.T) {
	t.Parallel()
	if !long() {
		judge(t, 1, 5*time.Second)
		return
	}
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { judge(t, seed, 90*time.Second) })
	}
}

// notGuaranteed are the exceptions that the documents name.
var notGuaranteed = []oracle.Exception{
	{
		Document: "rate-limiting.md: less than the limit may be admitted while something fails",
		Promise:  oracle.Refusals, Faults: []string{""}, After: time.Minute,
	},
	{
		Document: "errors.md: the database stops in the middle of recording the write, and goes on later",
		Promise:  oracle.Settled, Faults: []string{"Postgres frozen"},
	},
	{
		Document: "errors.md: the clock of the database is set back",
		Promise:  oracle.Settled, Faults: []string{"clock of Postgres"}, After: 5 * time.Second,
	},
	{
		Document: "rate-limiting.md: if the clock of Postgres is set forward, windows end early",
		Promise:  oracle.Windows, Faults: []string{"clock of Postgres"}, After: 2 * time.Minute,
	},
	{
		Document: "faults.md: a dump is restored that does not know of a server, and that server freezes before it " +
			"has noticed",
		Promise: oracle.Windows,
		Faults:  []string{"Postgres restored", "server "},
		After:   time.Minute,
	},
	{
		Document: "faults.md: a standby is promoted that was behind, on a day on which Redis was lost too",
		Promise:  oracle.Windows, Faults: []string{"Postgres's standby promoted", "Redis flushed"}, After: time.Minute,
	},
}

func judge(t *testing.T, seed uint64, lasts time.Duration) {
	l := &oracleLoad{seed: seed, cycle: lasts / 6}
	n := newNemesis(t, l, seed)
	stop := l.begin()
	n.rage(lasts)
	stop()
	r, faults := l.judge()
	least := 1 // on a machine that is busy with other tests
	if long() {
		least = 10
	}
	if r.Windows == 0 || long() && r.Refusals == 0 || r.Bills < 4 || r.Creates < least || r.Orders < least ||
		r.Answers < least || r.Lists < least || faults < 3 {
		t.Errorf("seed %d: this run has shown nothing: %+v", seed, r)
	}
}

// judge has the oracle judge what was recorded, and returns what it has checked, and the number of
// faults.
func (l *oracleLoad) judge() (r oracle.Report, faults int) {
	t, seed, rnd := l.t, l.seed, rand.New(rand.NewPCG(l.seed, 0))
	wait.Until(t, "a create, and a list", func() bool {
		create := oracle.Request{Method: http.MethodPost, Name: fmt.Sprintf("c-%x", rnd.Uint64())}
		return l.send(l.creates, l.creates.keys[0], rnd, create).Status == http.StatusCreated &&
			l.send(
				l.changes,
				l.changes.keys[0],
				rnd,
				oracle.Request{Method: http.MethodGet, Asked: l.registers},
			).Status == http.StatusOK
	})
	l.settle()
	assert.NoError(t, l.out.Err())
	file, err := os.Open(l.file)
	assert.NoError(t, err)
	defer file.Close()
	all, err := oracle.Read(file)
	assert.NoError(t, err)
	r = oracle.Check(
		all,
		oracle.Options{RefusedNeverHappens: true, ClockError: time.Second, Exceptions: notGuaranteed},
	)
	statuses := map[int]int{}
	for _, q := range all.Requests {
		statuses[q.Status]++
	}
	t.Logf(
		"seed %d: %d requests %v, %d faults; checked %d windows, %d refusals, %d bills, %d creates, %d orders, "+
			"%d replays, %d lists; %d violations, by exception %v",
		seed,
		len(all.Requests),
		statuses,
		len(all.Faults),
		r.Windows,
		r.Refusals,
		r.Bills,
		r.Creates,
		r.Orders,
		r.Answers,
		r.Lists,
		len(r.Violations),
		r.Allowed,
	)
	for _, v := range r.Violations[:min(len(r.Violations), 10)] {
		t.Errorf("seed %d: %v", seed, v)
	}
	if n := statuses[http.StatusInternalServerError]; n > 0 {
		t.Errorf("seed %d: %d responses are 500", seed, n)
		for i := range l.servers {
			for line := range strings.Lines(l.servers[i].Load().Stderr()) {
				if strings.Contains(line, `"status":500`) {
					t.Log(strings.TrimSpace(line))
				}
			}
		}
	}
	for _, f := range all.Faults {
		if t.Failed() || testing.Verbose() {
			t.Logf("%s to %s: %s", f.Start.UTC().Format("15:04:05.000"), f.End.UTC().Format("15:04:05.000"), f.What)
		}
	}
	return r, len(all.Faults)
}
