//go:build unix

package subprocess

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// ErrStillRunning says that a child did not end after any of the signals sent to it.
var ErrStillRunning = errors.New("the process does not end")

// Process is a running or ended child.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start starts cmd. If this process dies before the child, the child gets the signal orphaned.
func Start(cmd *exec.Cmd, orphaned syscall.Signal) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(orphaned, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

func (p *Process) run(orphaned syscall.Signal, started chan<- error) {
	// The kernel sends the parent-death signal when the thread that started the child ends, so that
	// thread is kept until the child has ended.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if p.cmd.SysProcAttr == nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.cmd.SysProcAttr.Setpgid = true
	setPdeathsig(p.cmd.SysProcAttr, orphaned)
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	stopWatching, err := watchParent(p.cmd.Process.Pid, orphaned)
	if err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	stopWatching()
	close(p.done)
}

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err waits for the child's end and returns how it ended: nil for exit status 0, else an
// *exec.ExitError.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Signal sends sig to the child. If the child has ended, it returns os.ErrProcessDone.
func (p *Process) Signal(sig syscall.Signal) error { return p.cmd.Process.Signal(sig) }

// Stop sends the signals in turn until the child has ended. After each signal it waits up to grace;
// once ctx is done, it waits only after the last. It returns ErrStillRunning if no signal ended the
// child. The child's exit status is not an error.
func (p *Process) Stop(ctx context.Context, grace time.Duration, signals ...syscall.Signal) error {
	for i, sig := range signals {
		if i == len(signals)-1 {
			ctx = context.WithoutCancel(ctx)
		}
		_ = p.Signal(sig) // an error means that the process has ended
		wait := time.NewTimer(grace)
		select {
		case <-p.done:
			wait.Stop()
			return nil
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
	return fmt.Errorf("stop %s, pid %d: %w", p.cmd.Path, p.PID(), ErrStillRunning)
}
