//go:build unix

package subprocess_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"petstore.example/internal/subprocess"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
)

// parentEnv names the environment variable that makes the test binary a parent: it starts a child,
// prints "started", and waits to be killed.
const parentEnv = "SUBPROCESS_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		child := sandbox.CommandIn("/", "sleep", "1000")
		child.Stdout = os.Stdout
		if _, err := subprocess.Start(child, syscall.SIGTERM); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("started")
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	goleak.VerifyTestMain(m)
}

func TestChildEndsWithItsKilledParent(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	assert.NoError(t, err)
	r, w, err := os.Pipe()
	assert.NoError(t, err)
	defer r.Close()
	parent := sandbox.Command(t, exe)
	parent.Env = append(parent.Env, parentEnv+"=1")
	parent.Stdout = w
	stdin, stdinErr := parent.StdinPipe()
	assert.NoError(t, errors.Join(stdinErr, parent.Start(), w.Close()))
	defer stdin.Close()
	output := bufio.NewReader(r)
	if line, err := output.ReadString('\n'); line != "started\n" {
		t.Fatalf("the parent says %q, %v", line, err)
	}
	assert.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	// The child holds the other end of the pipe for as long as it lives.
	assert.NoError(t, r.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = output.ReadByte()
	assert.ErrorIs(t, err, io.EOF, "the child outlives its parent")
}

// start starts a shell and waits until it has printed a line.
func start(t *testing.T, script string) *subprocess.Process {
	t.Helper()
	r, w, err := os.Pipe()
	assert.NoError(t, err)
	defer r.Close()
	cmd := sandbox.Command(t, "/bin/sh", "-c", script)
	cmd.Stdout = w
	p, err := subprocess.Start(cmd, syscall.SIGKILL)
	_ = w.Close()
	assert.NoError(t, err)
	_, err = bufio.NewReader(r).ReadString('\n')
	assert.NoError(t, err)
	return p
}

const (
	willing  = `echo up; exec sleep 1000`
	stubborn = `trap '' INT TERM; echo up; while :; do sleep 0.01; done`
)

func TestStop(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		script  string
		ctx     context.Context
		grace   time.Duration
		signals []syscall.Signal
		want    syscall.Signal
	}{
		"first signal": {
			willing,
			t.Context(),
			time.Minute,
			[]syscall.Signal{syscall.SIGTERM, syscall.SIGKILL},
			syscall.SIGTERM,
		},
		"last signal": {
			stubborn,
			t.Context(),
			50 * time.Millisecond,
			[]syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL},
			syscall.SIGKILL,
		},
		"context done": {
			stubborn,
			cancelled,
			time.Minute,
			[]syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL},
			syscall.SIGKILL,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, test.script)
			assert.NoError(t, p.Stop(test.ctx, test.grace, test.signals...))
			var exit *exec.ExitError
			if err := p.Err(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != test.want {
				t.Errorf("ended with %v, want %v", err, test.want)
			}
			assert.Equal(t, p.Stop(test.ctx, test.grace, syscall.SIGKILL), nil, "second stop")
		})
	}
}

func TestStopStillRunning(t *testing.T) {
	t.Parallel()
	p := start(t, stubborn)
	assert.ErrorIs(t, p.Stop(t.Context(), 20*time.Millisecond, syscall.SIGINT), subprocess.ErrStillRunning)
	assert.Equal(t, p.Stop(t.Context(), time.Minute, syscall.SIGKILL), nil)
}

func TestStartUnknownProgram(t *testing.T) {
	t.Parallel()
	_, err := subprocess.Start(sandbox.Command(t, "/nowhere/at/all"), syscall.SIGKILL)
	assert.ErrorIs(t, err, os.ErrNotExist)
}
