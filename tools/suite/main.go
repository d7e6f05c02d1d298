// Suite runs the project's tests in the folder in which it is started, the root of the repository:
// go test over packages. It starts one PostgreSQL and one Redis for all of them. It prints each
// package as it ends, with what it waits for; then the totals and the slowest packages; and last
// what failed, with the command that runs just this.
//
//	suite test [PACKAGE …]            run the tests that a person waits for
//	suite test-all [PACKAGE …]        run the others, and those with the race detector
//	suite needs TIER [PACKAGE …]      print the programs that the packages' tests start
//	suite raced PACKAGE …             print those of the packages that have the race detector
//
// Without packages, or with ./..., it means all but those that make check runs; and it waits for the
// end of another such run on the machine. Of packages that are named it runs all tests.
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

// runTests builds the programs once, outside bin, so that a running make run keeps its file.
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

// lock waits for the end of another run, in whichever clone. One run keeps all processors busy: two
// beside each other would both end when the second ends now, and what waits for a processor
// meanwhile takes others for dead.
func lock() error {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("petstore-suite-%d.lock", os.Getuid()))
	// It closes when the run ends, however it ends.
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
// the variables by which tests find them.
func startServers(dir string) (variables []string, stop func(), err error) {
	program := filepath.Join(dir, "servers")
	build := exec.Command("go", "build", "-tags", tags, "-trimpath", "-o", program, "./internal/test/servers")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := build.Run(); err != nil {
		return nil, nil, fmt.Errorf("build internal/test/servers: %w", err)
	}
	servers := exec.Command(program)
	servers.Stderr = os.Stderr
	servers.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is for the tests: these end after them.
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
	stop = func() { _ = errors.Join(in.Close(), servers.Wait()) } // It says itself what goes wrong.
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
