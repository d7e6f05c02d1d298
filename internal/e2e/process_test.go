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

// process is a running program of ours. Its output goes to two files.
type process struct {
	*subprocess.Process
	t   testing.TB
	out string // the files' paths
	err string
	// expects is what the program may log although it is wrong; "" for nothing.
	expects string
}

// start runs a program with that environment and PATH. It is stopped when the test ends.
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

// end stops the program if it still runs. A data race, a panic or a missing permission in its log fails the test.
func (p *process) end() {
	select {
	case <-p.Done():
	default:
		_ = p.Stop(context.Background(), 10*time.Second, syscall.SIGTERM, syscall.SIGKILL)
	}
	output := p.stderr()
	if path := os.Getenv("PETSTORE_E2E_LOGS"); path != "" {
		_ = os.WriteFile(filepath.Join(path, fmt.Sprintf("%d.log", p.PID())), []byte(output), 0o600)
	}
	if p.t.Failed() {
		p.t.Logf("stderr of process %d, its end:\n%s", p.PID(), output[max(0, len(output)-4000):])
	}
	for _, bad := range []string{"DATA RACE", "panic:", "goroutine 1 [", "permission denied"} {
		if bad != p.expects && strings.Contains(output, bad) {
			p.t.Errorf("process %d: %s in its stderr", p.PID(), bad)
		}
	}
}

// stop sends the signal and returns the exit code.
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

// wait returns the exit code, or -1 if a signal ended the program.
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

// failsWith waits until the program ends and checks that it failed with one line on stderr that contains want.
func (p *process) failsWith(want string) {
	p.t.Helper()
	code, line := p.wait(20*time.Second), strings.TrimSpace(p.stderr())
	if code == 0 || !strings.Contains(line, want) || strings.Contains(line, "\n") {
		p.t.Errorf("exit %d, %q: want a failure with one line that contains %q", code, line, want)
	}
}

func (p *process) stdout() string { return read(p.t, p.out) }

func (p *process) stderr() string { return read(p.t, p.err) }

// logged returns how many lines of stderr contain all of the words.
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

// eventually polls until the condition is true.
func eventually(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
