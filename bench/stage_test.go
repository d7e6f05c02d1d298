package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"petstore.example/bench/servers"
)

// The bare server is this program, so in a test it is the test's.
func TestMain(m *testing.M) {
	if isBare, err := servers.BareMain(os.Args[1:]); isBare {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// All cases answer the same 20 animals, and nothing of the stage is left when it is torn down.
func TestStage(t *testing.T) {
	s := &stage{}
	o := &options{petstore: filepath.Join(t.TempDir(), "petstore"), logLevel: "info"}
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
	var animals []map[string]any
	if err := json.Unmarshal(s.body, &animals); err != nil || len(animals) != 20 {
		t.Fatalf("the body holds %d animals, %v, want 20", len(animals), err)
	}
	for _, c := range s.cases {
		status, body, _, err := c.target.Fetch(t.Context())
		if err != nil || status != http.StatusOK || !bytes.Equal(body, s.body) {
			t.Errorf("%s answers %d, %v: %s", c.Name, status, err, body)
		}
		if _, err := c.usage(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
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
	if o.rounds < 5 || o.budget() > 3*60e9 {
		t.Errorf("the default is %d rounds within %v, want at least 5 within three minutes", o.rounds, o.budget())
	}
	for _, bad := range [][]string{
		{"more"}, {"-rounds", "0"}, {"-duration", "1500ms"}, {"-duration", "0s"}, {"-threads", "0"}, {"-connections", "1", "-threads", "2"},
	} {
		if _, err := parseOptions(bad); err == nil {
			t.Errorf("parseOptions(%q) has no error", bad)
		}
	}
}
