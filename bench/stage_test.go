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

	"petstore.example/bench/load"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
)

// The servers for comparison are this program, so in a test they are the test's.
func TestMain(m *testing.M) {
	if isServer, err := servers.SelfMain(os.Args[1:]); isServer {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// wanted are the cases that others rely on.
var wanted = []string{
	"list_memory", "list_redis", "not_modified_memory", "refused_memory", "refused_redis", "bad_key", "create", "stock",
}

// Every case answers what it is to answer, all lists are the same 20 animals, and nothing of the stage is left when it is torn down.
func TestStage(t *testing.T) {
	s := &stage{}
	o := &options{petstore: filepath.Join(t.TempDir(), "petstore"), logLevel: "info", connections: 2}
	t.Chdir("..") // where make runs it
	defer func() {
		if err := s.tearDown(context.Background()); err != nil {
			t.Error(err)
		}
		s.checkGone(t)
	}()
	if err := s.setUp(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, name := range wanted {
		if s.named(name) == nil {
			t.Errorf("there is no case %s", name)
		}
	}
	listed := s.named("list_memory").target.Body
	var animals []map[string]any
	if err := json.Unmarshal(listed, &animals); err != nil || len(animals) != 20 {
		t.Fatalf("the body holds %d animals, %v, want 20", len(animals), err)
	}
	for _, c := range s.cases {
		if strings.Contains(c.Name, "list") && !bytes.Equal(c.target.Body, listed) {
			t.Errorf("%s answers other animals: %s", c.Name, c.target.Body)
		}
		// A few requests at a slow rate, with all that is checked before, in and after a run.
		brief := func(ctx context.Context, target load.Target) (load.Result, error) {
			return load.Pace(ctx, target, 100, load.Options{Connections: 2, Duration: 100 * time.Millisecond})
		}
		if _, err := c.run(t.Context(), brief); err != nil {
			t.Error(err)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	names := func(s *stage) (names []string) {
		for _, c := range s.cases {
			names = append(names, c.Name)
		}
		return names
	}
	all := func() *stage {
		s := &stage{}
		for _, c := range [][2]string{{"a", "base"}, {"b", "a"}, {"c", "other"}, {"other", ""}, {"base", ""}} {
			s.cases = append(s.cases, &contender{Series: &report.Series{Name: c[0], Against: c[1]}})
		}
		return s
	}
	for given, want := range map[string][]string{
		"":    {"base", "a", "b", "other", "c"},
		"b":   {"base", "a", "b"},
		"c,a": {"other", "c", "base", "a"},
	} {
		s := all()
		if err := s.choose((&options{cases: given}).selected()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, names(s)); diff != "" {
			t.Errorf("%q: %s", given, diff)
		}
	}
	if all().choose([]string{"d"}) == nil {
		t.Error("a case that there is not is no error")
	}
}

func (s *stage) checkGone(t *testing.T) {
	t.Helper()
	for _, c := range s.cases {
		for _, pid := range c.processes {
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("process %d of %s is left: %v", pid, c.Name, err)
			}
		}
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder %s is left: %v", s.dir, err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	o, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.rounds < 5 || o.budget() > 20*60e9 {
		t.Errorf("the default is %d rounds within %v, want at least 5 within 20 minutes", o.rounds, o.budget())
	}
	for _, bad := range [][]string{
		{"more"}, {"-rounds", "0"}, {"-duration", "1500ms"}, {"-duration", "0s"}, {"-threads", "0"}, {"-connections", "1", "-threads", "2"},
	} {
		if _, err := parseOptions(bad); err == nil {
			t.Errorf("parseOptions(%q) has no error", bad)
		}
	}
}
