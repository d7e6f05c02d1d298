package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/subprocess"
)

// process is one of our programs at work. What it prints goes to two files.
type process struct {
	*subprocess.Process
	t   testing.TB
	out string // the files' paths
	err string
}

// start runs a program with exactly that environment, and PATH. It ends with the test at the latest.
func start(t testing.TB, cmd *exec.Cmd, env ...string) *process {
	t.Helper()
	dir := t.TempDir()
	p := &process{t: t, out: filepath.Join(dir, "stdout"), err: filepath.Join(dir, "stderr")}
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	stdout, stderr := create(t, p.out), create(t, p.err)
	defer stdout.Close()
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	var err error
	if p.Process, err = subprocess.Start(cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.end)
	return p
}

func create(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// end stops the program if it still runs. A server that finds a data race, panics or lacks a right in the database fails the test.
func (p *process) end() {
	select {
	case <-p.Done():
	default:
		_ = p.Stop(context.Background(), 10*time.Second, syscall.SIGTERM, syscall.SIGKILL)
	}
	said := p.stderr()
	if path := os.Getenv("PETSTORE_E2E_LOGS"); path != "" {
		_ = os.WriteFile(filepath.Join(path, fmt.Sprintf("%d.log", p.PID())), []byte(said), 0o600)
	}
	if p.t.Failed() {
		p.t.Logf("stderr of process %d, its end:\n%s", p.PID(), said[max(0, len(said)-4000):])
	}
	for _, bad := range []string{"DATA RACE", "panic:", "goroutine 1 [", "permission denied"} {
		if strings.Contains(said, bad) {
			p.t.Errorf("process %d: %s in its stderr", p.PID(), bad)
		}
	}
}

// stop asks the program to end as a person or a supervisor does, and returns its exit code.
func (p *process) stop(sig syscall.Signal) int {
	p.t.Helper()
	if err := p.Signal(sig); err != nil {
		p.t.Fatalf("signal %v: %v", sig, err)
	}
	return p.wait(30 * time.Second)
}

// kill ends the program at once.
func (p *process) kill() {
	p.t.Helper()
	_ = p.Signal(syscall.SIGKILL)
	p.wait(10 * time.Second)
}

// wait returns the exit code, -1 for a program that a signal ended.
func (p *process) wait(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.Done():
	case <-time.After(limit):
		p.t.Fatalf("process %d has not ended within %v", p.PID(), limit)
	}
	err := p.Err()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return 0
}

func (p *process) stdout() string { return read(p.t, p.out) }

func (p *process) stderr() string { return read(p.t, p.err) }

// logged returns how many lines of stderr hold all of the words.
func (p *process) logged(words ...string) int {
	n := 0
	for line := range strings.Lines(p.stderr()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			n++
		}
	}
	return n
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(bytes.ToValidUTF8(text, []byte("?")))
}

// eventually polls until the condition holds.
func eventually(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
