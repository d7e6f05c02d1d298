package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/bench/cputime"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
	"petstore.example/internal/test/programs"
	_ "petstore.example/internal/test/sandbox"
)

// The servers to compare with are this program, in a test the test binary.
func TestMain(m *testing.M) {
	if isServer, err := servers.SelfMain(os.Args[1:]); isServer {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// requiredRows are those that docs/benchmarks.md and its readers rely on.
const requiredRows = "bare_gin list list_256 list_uncached list_redis list_redis_256 not_modified refused bad_key " +
	"create_300 patch_300 order_300 create_once_300 create_300_redis mixed_5 mixed_5_redis cold proxied " +
	"proxied_net_http nginx_file stock list@5000 list_redis@5000 refused@5000 stock@5000 list@20000 " +
	"list_redis@20000 refused@20000 stock@20000"

// Every case gets its response, all lists are the same 20 animals, all of it takes less than 20
// minutes, and TearDown leaves nothing.
func TestEnv(t *testing.T) {
	e := &env{}
	o := &options{petstore: programs.Path(t, "petstore"), connections: 2}
	t.Chdir("..") // where make runs it
	defer func() {
		if err := e.TearDown(context.Background()); err != nil {
			t.Error(err)
		}
		checkGone(t, e)
	}()
	if err := e.setUp(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	want, got := strings.Fields(requiredRows), []string{}
	for _, s := range (&report.Report{Series: seriesOf(e)}).Rows() {
		got = append(got, s.Name)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("the rows are others: %s", diff)
	}
	// PostgreSQL's processes for the other servers are told from its own by their titles.
	list := e.find("list").on
	own, err := cputime.Of(e.postgres.PID(), list.isForeign)
	all, err2 := cputime.Of(e.postgres.PID(), nil)
	if err := errors.Join(err, err2); err != nil || own >= all {
		t.Errorf("PostgreSQL used %v for list, %v for all, %v", own, all, err)
	}
	defaults, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	// All of make bench takes less than 25 minutes. The rest is left to build, to start the servers,
	// and for the checks around each run.
	if d := defaults.measuringTime(e.cases); d > 20*time.Minute {
		t.Errorf("%d cases take %v", len(e.cases), d)
	}
	listed := e.find("list").Body
	var animals []map[string]any
	if err := json.Unmarshal(listed, &animals); err != nil || len(animals) != 20 {
		t.Fatalf("the body holds %d animals, %v, want 20", len(animals), err)
	}
	for _, c := range e.cases {
		if strings.Contains(c.Name, "list") && !bytes.Equal(c.Body, listed) {
			t.Errorf("%s returns other animals: %q", c.Name, c.Body)
		}
		if err := c.refill(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	if body := e.find("refused").Body; !bytes.Contains(body, []byte(`"rate_limit_exceeded"`)) {
		t.Errorf("refused has the body %s", body)
	}
	o.out = t.Output()
	for _, name := range []string{
		"list_redis@5000", "order_300", "patch_300", "create_once_300", "cold", "mixed_5_redis", "stock", "nginx_file",
	} {
		run, err := e.run(t.Context(), e.find(name), time.Second, 100)
		t.Logf("%s: %+v, %v", name, run, err)
		if err != nil {
			t.Error(err)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	names := func(e *env) (names []string) {
		for _, c := range e.cases {
			names = append(names, c.Name)
		}
		return names
	}
	all := func() *env {
		e := &env{}
		for _, c := range [][2]string{
			{"base", ""}, {"a", "base"}, {"b", "a"}, {"other", ""}, {"c", "other"}, {"base@1", ""}, {"a@1", "base@1"},
		} {
			e.addCases([]row{{name: c[0], against: c[1]}})
			if strings.Contains(c[0], "@") {
				e.find(c[0]).Rate = 1
			}
		}
		return e
	}
	for given, want := range map[string][]string{
		"":         {"base", "a", "b", "other", "c", "base@1", "a@1"},
		"b":        {"base", "a", "b"},
		"c,a":      {"base", "a", "other", "c"},
		"a@1":      {"base@1", "a@1"},
		"pinned,a": {"base", "a", "base@1", "a@1"},
	} {
		e := all()
		if err := e.choose(given); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, names(e)); diff != "" {
			t.Errorf("%q: %s", given, diff)
		}
	}
	if all().choose("d") == nil {
		t.Error("choose accepts an unknown case")
	}
}

// Each case comes after the one that it is compared with, and only cases with the same baseline are
// between them.
func TestTableKeepsComparedCasesTogether(t *testing.T) {
	t.Parallel()
	key := servers.Tenant{Key: "key"}
	base, baselines := map[string]string{"": ""}, []string{}
	sample := &servers.Sample{One: key, Many: make([]servers.Tenant, servers.ManyTenants)}
	for _, r := range table(sample) {
		of, ok := base[r.against]
		if !ok {
			t.Errorf("%s comes before %s", r.name, r.against)
		}
		if r.against == "" {
			of, baselines = r.name, append(baselines, r.name)
		}
		if base[r.name] = of; of != baselines[len(baselines)-1] {
			t.Errorf("%s is compared with %s, after another baseline", r.name, of)
		}
	}
}

func seriesOf(e *env) (all []*report.Series) {
	for _, c := range e.cases {
		all = append(all, c.Series)
	}
	return all
}

func checkGone(t *testing.T, e *env) {
	t.Helper()
	for _, c := range e.cases {
		for _, pid := range c.on.processes {
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("process %d of %s is left: %v", pid, c.Name, err)
			}
		}
	}
	if _, err := os.Stat(e.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("directory %s is left: %v", e.dir, err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	o, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.rounds < 5 {
		t.Errorf("the default is %d rounds, want at least 5", o.rounds)
	}
	for _, bad := range [][]string{
		{"more"}, {"-rounds", "0"}, {"-duration", "0s"}, {"-pinned", "0s"}, {"-connections", "1"},
	} {
		if _, err := parseOptions(bad); err == nil {
			t.Errorf("parseOptions(%q) has no error", bad)
		}
	}
}
