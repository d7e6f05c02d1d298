//go:build unix

package syspkg

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

//go:embed apt.sh
var aptScript string

// Package is something to install.
type Package struct {
	Name string // what people call it: "PostgreSQL"
	Apt  string // the name of Debian's package
	Brew string // the name of Homebrew's formula
}

// NotInstalledError says in one line what a person has to install, because nothing here could do it.
type NotInstalledError struct{ Package Package }

func (e *NotInstalledError) Error() string {
	return fmt.Sprintf("%s is not installed; install it with: %s", e.Package.Name, e.Package.advice())
}

func (p Package) advice() string {
	if runtime.GOOS == "darwin" {
		return "brew install " + p.Brew
	}
	return fmt.Sprintf("sudo apt-get install %s (or your system's package of it)", p.Apt)
}

// Ensure installs p unless found reports that it is there; it asks again after having waited for other processes and after
// the installation. What the installer prints goes to w. It returns a *NotInstalledError when there is no way to install p.
func Ensure(ctx context.Context, w io.Writer, p Package, found func() bool) error {
	return ensure(ctx, w, p, found, installer)
}

// installer returns the command line that installs p, and nil when there is none.
func installer(ctx context.Context, p Package) []string {
	apt := []string{"/bin/sh", "-c", aptScript, "install", p.Apt}
	switch {
	case runtime.GOOS == "darwin" && has("brew"):
		return []string{"brew", "install", p.Brew}
	case !has("apt-get"):
		return nil
	case os.Geteuid() == 0:
		return apt
	case has("sudo") && exec.CommandContext(ctx, "sudo", "-n", "true").Run() == nil:
		return append([]string{"sudo", "-n"}, apt...)
	}
	return nil
}

func has(command string) bool {
	_, err := exec.LookPath(command)
	return err == nil
}

func ensure(ctx context.Context, w io.Writer, p Package, found func() bool, installer func(context.Context, Package) []string) error {
	if found() {
		return nil
	}
	unlock, err := lock(ctx)
	if err != nil {
		return fmt.Errorf("install %s: %w", p.Name, err)
	}
	defer unlock()
	if found() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("install %s: %w", p.Name, err)
	}
	command := installer(ctx, p)
	if command == nil {
		return &NotInstalledError{Package: p}
	}
	if _, err := fmt.Fprintf(w, "installing %s\n", p.Name); err != nil {
		return fmt.Errorf("install %s: %w", p.Name, err)
	}
	if err := run(ctx, w, command); err != nil {
		return fmt.Errorf("install %s: %w", p.Name, err)
	}
	if !found() {
		return &NotInstalledError{Package: p}
	}
	return nil
}

// run runs the command with its output going to w; when it fails the error carries the last lines of it.
func run(ctx context.Context, w io.Writer, command []string) error {
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout = io.MultiWriter(w, &output)
	cmd.Stderr = cmd.Stdout
	// A package manager that is killed leaves a broken database of packages behind: ask it, and give it time.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLines(output.String(), 5))
	}
	return nil
}

// lock waits until no other process of this user is installing.
func lock(ctx context.Context) (unlock func(), err error) {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("petstore-install-%d.lock", os.Geteuid()))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			// Closing alone would leave the lock with a child process that another goroutine is just starting.
			return func() { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN); _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("wait for another installation: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
