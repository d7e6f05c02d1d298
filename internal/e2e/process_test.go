package e2e_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/test/programs"
)

// process is a running program of ours.
type process struct {
	*programs.Process
	t testing.TB
}

// start runs a command of the sandbox with further variables. It is stopped when the test ends.
func start(t testing.TB, cmd *exec.Cmd, env ...string) *process {
	t.Helper()
	return &process{programs.Start(t, cmd, env...), t}
}

// stop sends the signal and returns the exit code.
func (p *process) stop(sig syscall.Signal) int {
	p.t.Helper()
	return p.Stop(sig)
}

// kill ends the program at once.
func (p *process) kill() {
	p.t.Helper()
	p.Kill()
}

// wait returns the exit code, or -1 if a signal ended the program.
func (p *process) wait() int {
	p.t.Helper()
	return p.Wait()
}

// failsWith waits until the program ends and checks that it failed with one line on stderr that contains want.
func (p *process) failsWith(want string) {
	p.t.Helper()
	code, line := p.wait(), strings.TrimSpace(p.stderr())
	if code == 0 || !strings.Contains(line, want) || strings.Contains(line, "\n") {
		p.t.Errorf("exit %d, %q: want a failure with one line that contains %q", code, line, want)
	}
}

func (p *process) stdout() string { return p.Stdout() }

func (p *process) stderr() string { return p.Stderr() }

// logged returns how many lines of stderr contain all of the words.
func (p *process) logged(words ...string) int { return p.Logged(words...) }

func read(t testing.TB, path string) string {
	t.Helper()
	return programs.Read(t, path)
}
