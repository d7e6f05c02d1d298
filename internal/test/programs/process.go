package programs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/subprocess"
	"petstore.example/internal/test/wait"
)

// served are the lines of the log about served requests; waits are those about waiting, which a
// busy machine causes.
var (
	served = regexp.MustCompile(`(?m)^{"level":"info".*"message":"request"}\n`)
	waits  = regexp.MustCompile(`(?m)^{.*"message":"waiting for Postgres"}\n`)
)

// Process is a running program. Its stdout and stderr go to two files.
type Process struct {
	*subprocess.Process
	// Expects is a fault that the program may log; "" for none.
	Expects string
	// Chatty says that the program may log any number of lines of one kind, because its release has
	// no limit.
	Chatty bool

	t        testing.TB
	out, err string // the files' paths
}

// Start runs a command of the sandbox with further variables. It is stopped when the test ends.
func Start(t testing.TB, cmd *exec.Cmd, env ...string) *Process {
	t.Helper()
	dir := t.TempDir()
	p := &Process{t: t, out: filepath.Join(dir, "stdout"), err: filepath.Join(dir, "stderr")}
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

// end stops the program if it still runs, and checks its log.
func (p *Process) end() {
	if !p.Ended() {
		_ = p.Process.Stop(context.Background(), wait.Limit, syscall.SIGTERM, syscall.SIGKILL)
	}
	output := p.Stderr()
	if path := os.Getenv("PETSTORE_E2E_LOGS"); path != "" {
		_ = os.WriteFile(filepath.Join(path, fmt.Sprintf("%d.log", p.PID())), []byte(output), 0o600)
	}
	if p.t.Failed() {
		shown := served.ReplaceAllString(output, "")
		p.t.Logf(
			"stderr of process %d without requests that were served, its end:\n%s",
			p.PID(),
			shown[max(0, len(shown)-4000):],
		)
	}
	if !p.Chatty {
		checkTrouble(p.t, output)
	}
	for _, bad := range []string{"DATA RACE", "panic:", "goroutine 1 [", "permission denied"} {
		if bad != p.Expects && strings.Contains(output, bad) {
			p.t.Errorf("process %d: %s in its stderr", p.PID(), bad)
		}
	}
}

// Stop sends the signal and returns the exit code.
func (p *Process) Stop(sig syscall.Signal) int {
	p.t.Helper()
	if err := p.Signal(sig); err != nil {
		p.t.Fatalf("signal %v: %v", sig, err)
	}
	return p.Wait()
}

// Kill ends the program at once.
func (p *Process) Kill() {
	p.t.Helper()
	_ = p.Signal(syscall.SIGKILL)
	p.Wait()
}

// Wait returns the exit code, or -1 if a signal ended the program.
func (p *Process) Wait() int {
	p.t.Helper()
	select {
	case <-p.Done():
	case <-time.After(wait.Limit):
		p.t.Fatalf("process %d has not ended within %v", p.PID(), wait.Limit)
	}
	err := p.Err()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return 0
}

// FailsWith waits until the program ends. It checks that the program failed, with one line on
// stderr that contains want, after any lines about waiting.
func (p *Process) FailsWith(want string) {
	p.t.Helper()
	code, line := p.Wait(), strings.TrimSpace(waits.ReplaceAllString(p.Stderr(), ""))
	if code == 0 || !strings.Contains(line, want) || strings.Contains(line, "\n") {
		p.t.Errorf("exit %d, %q: want a failure with one line that contains %q", code, line, want)
	}
}

// Ended reports whether the program has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// Stdout returns what the program has written to stdout.
func (p *Process) Stdout() string { return Read(p.t, p.out) }

// Stderr returns what the program has written to stderr.
func (p *Process) Stderr() string { return Read(p.t, p.err) }

// Logged returns the number of lines of stderr that contain all of the words.
func (p *Process) Logged(words ...string) int {
	n := 0
	for line := range strings.Lines(p.Stderr()) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			n++
		}
	}
	return n
}

// Read returns the text of a file, as valid UTF-8.
func Read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(bytes.ToValidUTF8(text, []byte("?")))
}
