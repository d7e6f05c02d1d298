package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/bench/cputime"
	"petstore.example/bench/load"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
	_ "petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// The servers to compare with are this program, in a test the test binary.
func TestMain(m *testing.M) {
	if isServer, err := servers.SelfMain(os.Args[1:]); isServer {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// requiredCases are those that docs/benchmarks.md and its readers rely on.
var requiredCases = []string{
	"list_memory",
	"list_memory_net_http",
	"list_gzip",
	"list_redis",
	"list_redis_net_http",
	"not_modified_memory",
	"refused_memory",
	"refused_redis",
	"bad_key",
	"create",
	"stock",
	"patch",
	"patch_redis",
	"order",
	"order_redis",
	"mixed_1",
	"mixed_5",
	"many_clients",
	"cold",
	"proxied",
}

// Every case gets its response, all lists are the same 20 animals, the whole takes less than 28
// minutes, and tearDown leaves nothing.
func TestEnv(t *testing.T) {
	e := &env{}
	o := &options{petstore: filepath.Join(t.TempDir(), "petstore"), logLevel: "info", connections: 2}
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
	for _, name := range requiredCases {
		if e.find(name) == nil {
			t.Errorf("there is no case %s", name)
		}
	}
	// PostgreSQL's processes for the other servers are told from its own by their titles.
	if _, foreign, err := cputime.OfTrees(e.find("list_memory").on.isForeign); err != nil || len(foreign) == 0 {
		t.Errorf("PostgreSQL has %d processes for other servers, %v", len(foreign), err)
	}
	defaults, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	// All of make bench takes less than 31 minutes. The rest is left to build, to start the
	// servers, and for the checks around each run.
	if d := defaults.measuringTime(len(e.chosen(false))); d > 28*time.Minute {
		t.Errorf("%d cases take %v", len(e.cases), d)
	}
	listed := e.find("list_memory").Body
	var animals []map[string]any
	if err := json.Unmarshal(listed, &animals); err != nil || len(animals) != 20 {
		t.Fatalf("the body holds %d animals, %v, want 20", len(animals), err)
	}
	for _, c := range e.cases {
		if content, err := load.Unpacked(c.Body); strings.Contains(c.Name, "list") &&
			(err != nil || !bytes.Equal(content, listed)) {
			t.Errorf("%s returns other animals: %q, %v", c.Name, content, err)
		}
		if _, err := c.refill(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	// A run has checks before, during and after it. On a busy machine, where Postgres takes a
	// second, the first ones may find a 503.
	for _, name := range []string{"list_redis@1000", "order", "cold", "mixed_1_redis", "stock", "nginx_file"} {
		var run report.Run
		var err error
		wait.Within(t, 5*time.Minute, name, func() bool {
			run, err = e.find(name).run(
				t.Context(),
				load.Options{Connections: 2, Threads: 1, Duration: time.Second, Rate: 100},
			)
			return err == nil
		}, &err)
		t.Logf("%s: %+v", name, run)
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
		for _, c := range [][2]string{{"base", ""}, {"a", "base"}, {"b", "a"}, {"other", ""}, {"c", "other"}} {
			e.cases = append(e.cases, &benchCase{Series: &report.Series{Name: c[0], Against: c[1]}})
		}
		for _, c := range [][2]string{{"base@1", ""}, {"a@1", "base@1"}} {
			e.cases = append(e.cases, &benchCase{Series: &report.Series{Name: c[0], Against: c[1], Rate: 1}})
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
		if err := e.choose((&options{cases: given}).selected()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, names(e)); diff != "" {
			t.Errorf("%q: %s", given, diff)
		}
	}
	if all().choose([]string{"d"}) == nil {
		t.Error("choose accepts an unknown case")
	}
}

// Each case comes after the one that it is compared with, and only cases with the same baseline are
// between them.
func TestTableKeepsComparedCasesTogether(t *testing.T) {
	t.Parallel()
	key := servers.Tenant{Key: "key"}
	base, baselines := map[string]string{"": ""}, []string{}
	for _, r := range table(&deployments{},
		&servers.Sample{One: key, Many: make([]servers.Tenant, servers.ManyTenants)}) {
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
	if o.rounds < 5 || o.timeout() > 45*time.Minute {
		t.Errorf("the default is %d rounds within %v, want at least 5 within 45 minutes", o.rounds, o.timeout())
	}
	for _, bad := range [][]string{
		{"more"}, {"-rounds", "0"}, {"-duration", "1500ms"}, {"-duration", "0s"}, {"-pinned", "0s"},
		{"-pinned", "1500ms"}, {"-threads", "0"}, {"-connections", "1", "-threads", "2"},
	} {
		if _, err := parseOptions(bad); err == nil {
			t.Errorf("parseOptions(%q) has no error", bad)
		}
	}
}
