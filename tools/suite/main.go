// Suite runs the project's tests with go test, in the root of the repository. It starts one
// PostgreSQL and one Redis for all packages. It prints each package when that ends, and what is
// still running. At the end it prints the totals, the slowest packages, and the failed tests, each
// with the command that runs it alone.
//
//	suite test [PACKAGE …]            run the tests that a person waits for
//	suite test-all [PACKAGE …]        run the others, and those with the race detector
//	suite needs TIER [PACKAGE …]      print the programs that the packages' tests start
//	suite raced PACKAGE …             print those of the packages that have the race detector
//
// Of named packages it runs all tests. Without packages, or with ./..., it first waits for the end
// of another such run on this machine. Then it runs all packages except those of make check.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	syscall.Umask(0o022) // Some tests run the programs as another user.
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: suite test|test-all|raced [PACKAGE …], or suite needs test|test-all [PACKAGE …]")

func run(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	command, args := args[0], args[1:]
	name := command
	if command == "needs" && len(args) > 0 {
		name, args = args[0], args[1:]
	}
	t, ok := map[string]tier{"test": quick, "test-all": all, "raced": all}[name]
	if !ok {
		return errUsage
	}
	packages, err := list(args)
	if err == nil {
		err = checkNames()
	}
	if err != nil {
		return err
	}
	switch command {
	case "needs":
		fmt.Println(strings.Join(needs(packages, t, whole(args)), " "))
	case "raced":
		for _, p := range packages {
			if raced(p) {
				fmt.Println(module + p.name)
			}
		}
	default:
		return runTests(packages, t, whole(args))
	}
	return nil
}

func whole(patterns []string) bool {
	return len(patterns) == 0 || slices.Equal(patterns, []string{"./..."})
}

// runTests builds the programs once. It builds them outside bin, so that a running make run keeps
// its file.
func runTests(packages []pkg, t tier, whole bool) error {
	if whole {
		if err := lock(); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "petstore-suite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	asBuild, withRace := []string{"CGO_ENABLED=0"}, []string{fastExit}
	if slices.ContainsFunc(packages, func(p pkg) bool { return p.contains("internal/test/programs") }) {
		if err := buildPrograms(dir); err != nil {
			return err
		}
		asBuild = append(asBuild, "PETSTORE_E2E_PROGRAMS="+dir)
		withRace = append(withRace, "PETSTORE_E2E_PROGRAMS="+dir)
	}
	if whole {
		variables, stop, err := startServers(dir)
		if err != nil {
			return err
		}
		defer stop()
		asBuild, withRace = append(asBuild, variables...), append(withRace, variables...)
		return report(lanes(packages, t, asBuild, withRace)...)
	}
	return report(chosen(packages, t, asBuild, withRace)...)
}

// lock waits for the end of another run, in any clone. One run keeps all processors busy. Two at
// the same time would both end as late as the second does now, and a program that waits for a
// processor may take others for dead.
func lock() error {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("petstore-suite-%d.lock", os.Getuid()))
	// The kernel closes the file when the run ends, however it ends.
	file, err := syscall.Open(name, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	other := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(uintptr(file), syscall.F_GETLK, &other); err == nil && other.Type != syscall.F_UNLCK {
		fmt.Printf("Another make test runs on this machine (process %d). This one begins when that ends.\n", other.Pid)
	}
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.FcntlFlock(uintptr(file), syscall.F_SETLKW, &syscall.Flock_t{Type: syscall.F_WRLCK})
	}
	return os.NewSyscallError("lock "+name, err)
}

func buildPrograms(dir string) error {
	build := exec.Command("make", "-s", "build", "BIN="+dir, "LDFLAGS=-X main.version=v0.0.0-e2e")
	build.Env, build.Stderr = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL="), os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("make build: %w", err)
	}
	return nil
}

// startServers starts the PostgreSQL and the Redis of the run (internal/test/servers), and returns
// the variables with which tests find them.
func startServers(dir string) (variables []string, stop func(), err error) {
	program := filepath.Join(dir, "servers")
	build := exec.Command("go", "build", "-tags", tags, "-trimpath", "-o", program, "./internal/test/servers")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := build.Run(); err != nil {
		return nil, nil, fmt.Errorf("build internal/test/servers: %w", err)
	}
	servers := exec.Command(program)
	servers.Stderr = os.Stderr
	servers.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // A ^C must stop the tests; these servers end after them.
	in, err := servers.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := servers.StdoutPipe()
	if err == nil {
		err = servers.Start()
	}
	if err != nil {
		return nil, nil, err
	}
	stop = func() { _ = errors.Join(in.Close(), servers.Wait()) } // The program reports its errors itself.
	var postgres, redis string
	if _, err := fmt.Fscanln(out, &postgres); err == nil {
		_, err = fmt.Fscanln(out, &redis)
	}
	if redis == "" {
		stop()
		return nil, nil, errors.New("the servers of the tests did not start")
	}
	return []string{postgres, redis}, stop, nil
}
