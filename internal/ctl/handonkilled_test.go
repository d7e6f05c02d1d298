//go:build !scripts

package ctl

import (
	"database/sql"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage/events"
)

// TestKilledHandOn kills runs at random instants, while usage is recorded and the receiver loses
// requests and replies. In the end the receiver has counted each event once, and all of them are
// what is recorded; what came again was the same bytes. With PETSTORE_SOAK it kills 200 runs of each
// format.
func TestKilledHandOn(t *testing.T) {
	t.Parallel()
	kills := 3
	if os.Getenv("PETSTORE_SOAK") != "" {
		kills = 200
	}
	for format, r := range map[events.Format]*receiver{
		events.Stripe:      stripeReceiver(""),
		events.Lago:        lagoReceiver(t),
		events.OpenMeter:   openMeterReceiver(t),
		events.CloudEvents: cloudEventsReceiver(),
	} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			killHandOn(t, string(format), r, kills)
		})
	}
}

func killHandOn(t *testing.T, name string, r *receiver, kills int) {
	database := storetest.New(t)
	assert.NoError(t, seedHandOn(database.URL, 30))
	owner, err := sql.Open("postgres", database.URL)
	assert.NoError(t, err)
	defer owner.Close()
	_, err = owner.Exec(`update tenants set billing_ref = 'cus_shy' where name = 'shy'`)
	assert.NoError(t, err)
	r.chaos = 3
	page, dir := billingPage(t), t.TempDir()
	urls := map[string]string{"stripe": "x", "lago": "x", "openmeter": "x", "cloudevents": "x", name: r.start(t)}
	assert.NoError(t, writeReceivers(dir, page, urls))
	start := func() *exec.Cmd {
		cmd := sandbox.Command(
			t, "petstorectl", "usage", "hand-on", filepath.Join(dir, name+".receiver"), "--from", "34d",
		)
		cmd.Env = append(cmd.Env, "PETSTORE_DATABASE_URL="+database.BillingURL, "PETSTORE_ACTOR=test")
		return cmd
	}
	began := time.Now()
	out, err := start().CombinedOutput()
	assert.NoError(t, err, string(out))
	whole := time.Since(began)
	for killed := 0; killed < kills; {
		// Usage of any of the hours: corrections, some below zero.
		_, err := owner.Exec(`
			update usage_hourly set admitted = greatest(0, admitted + floor(random() * 9 - 4)::bigint)
			where random() < 0.2`)
		assert.NoError(t, err)
		cmd := start()
		assert.NoError(t, cmd.Start())
		began := time.Now()
		ended := make(chan struct{})
		go killAtRandom(cmd.Process, r, whole, ended)
		err = cmd.Wait()
		close(ended)
		if err == nil {
			whole = time.Since(began)
		} else if !cmd.ProcessState.Exited() {
			killed++
		}
	}
	for out, err = start().CombinedOutput(); err != nil; out, err = start().CombinedOutput() {
		// Until Postgres has noticed that the last one has ended.
		assert.True(t, strings.Contains(string(out), "another run is handing on"), string(out))
	}
	judgeHandOn(t, owner, name, r, page)
	var again int
	assert.NoError(t, owner.QueryRow(`select count(*) from sent_events where attempts > 1`).Scan(&again))
	t.Logf("%d runs were killed; %d events in %d requests, %d of them sent again",
		kills, len(r.counted), r.requests, again)
}

// killAtRandom kills a run at any instant of the time that one takes; every second one after a
// request has begun.
func killAtRandom(run *os.Process, r *receiver, whole time.Duration, ended <-chan struct{}) {
	within := whole
	if rand.IntN(2) == 0 {
		within = 2 * maxLatency
		select {
		case <-r.begun:
		case <-ended:
			return
		}
	}
	select {
	case <-time.After(rand.N(within)):
		_ = run.Kill()
	case <-ended:
	}
}

// judgeHandOn compares what a receiver has counted with what is recorded.
func judgeHandOn(t *testing.T, owner *sql.DB, name string, r *receiver, page string) {
	t.Helper()
	rows, err := owner.Query(`select tenant_id, sum(admitted) from usage_hourly group by tenant_id`)
	assert.NoError(t, err)
	defer rows.Close()
	want := map[string]int64{}
	for rows.Next() {
		var id int
		var admitted int64
		assert.NoError(t, rows.Scan(&id, &admitted))
		customer := "cus_" + []string{"acme", "zoo", "shy"}[id-1]
		if name == string(events.CloudEvents) {
			customer = "tenant:" + string(rune('0'+id))
		}
		want[customer] = admitted
	}
	assert.NoError(t, rows.Err())
	assert.True(t, maps.Equal(r.sums, want), name, "has counted", r.sums, "want", want)
	for id, n := range r.counted {
		assert.Equal(t, n, 1, name, "has counted event", id)
	}
	var stored, arrived, missing int
	err = owner.QueryRow(
		`select count(*), count(*) filter (where state = 'arrived' and body is null) from sent_events`,
	).
		Scan(
			&stored,
			&arrived,
		)
	assert.Result(
		t,
		[2]int{arrived, len(r.counted)},
		err,
		[2]int{stored, stored},
		"events that have arrived, of",
		stored,
	)
	err = owner.QueryRow(`select count(*) from (` + reconcileQuery(t, page, name) + `) r`).Scan(&missing)
	assert.Result(t, missing, err, 0, "rows of the reconciling query")
}
