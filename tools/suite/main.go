// Suite runs the project's tests in the folder in which it is started, the root of the repository:
// go test over packages, whose tests start the servers that they need. It prints each package as it
// ends, with what it waits for; then the totals and the slowest packages; and last what failed,
// with the command that runs just this.
//
//	suite [PACKAGE …]          run the tests
//	suite needs [PACKAGE …]    print the programs that the packages' tests start
//
// Without packages, or with ./..., it means all but those that make check runs, and the tests of
// HTTP once more without the fast path; and it waits for the end of another such run on the
// machine.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
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

func run(args []string) error {
	asksForNeeds := len(args) > 0 && args[0] == "needs"
	if asksForNeeds {
		args = args[1:]
	}
	packages, err := list(args)
	if err != nil {
		return err
	}
	if asksForNeeds {
		fmt.Println(strings.Join(needs(packages), " "))
		return nil
	}
	return runTests(packages, whole(args))
}

func whole(patterns []string) bool {
	return len(patterns) == 0 || slices.Equal(patterns, []string{"./..."})
}

// No result comes from the cache: what it was made of is more than files and variables. All tests
// mostly wait, for databases and servers, so there are more at a time than processors. make check
// runs go vet.
var flags = []string{
	"-count=1",
	"-tags",
	tags,
	"-trimpath",
	"-vet",
	"off",
	"-ldflags",
	"-s -w",
	"-timeout",
	"20m",
	"-p",
	"2",
	"-parallel",
	"3",
}

const (
	endToEnd  = "internal/e2e"
	structure = "internal/structure"

	// httpTests are the end-to-end tests of what HTTP itself does. The others start several
	// servers, of which every second has the fast path off.
	httpTests   = "^Test(OngoingRequestIsFinished|OngoingListIsFinished|GoClient)$"
	fastPathOff = "PETSTORE_E2E_SERVER_ENV=PETSTORE_HTTP_FAST_PATH=off"

	// A binary with the race detector waits a second before it exits, in which goroutines that are
	// left may race.
	fastExit = "GORACE=atexit_sleep_ms=50"
)

// unraced packages have no race detector. It sees what happens in the process of a test: the
// servers of the end-to-end tests are others, which make soak builds with it, and those of the
// benchmarks are, too; each schedule of a simulation is one goroutine, and the structure is what
// sources say. It would find nothing, in three times as long.
func unraced(p pkg) bool {
	return path.Base(p.name) == "simtest" || p.name == structure || strings.HasPrefix(p.name, endToEnd) ||
		strings.HasPrefix(p.name, "bench")
}

// runTests runs packages with the race detector and those without beside each other. The programs
// are built once.
func runTests(packages []pkg, whole bool) error {
	if whole {
		if err := lock(); err != nil {
			return err
		}
	}
	var raced, others []pkg
	for _, p := range packages {
		if unraced(p) {
			others = append(others, p)
		} else {
			raced = append(raced, p)
		}
	}
	withRace := &step{env: []string{fastExit}, args: append([]string{"-race"}, flags...), packages: raced}
	if len(others) == 0 {
		return report([]*step{withRace})
	}
	dir, err := buildPrograms()
	defer os.RemoveAll(dir)
	if err != nil {
		return err
	}
	// As make build has it, which has compiled most of it.
	env := []string{"CGO_ENABLED=0", "PETSTORE_E2E_PROGRAMS=" + dir}
	lane := []*step{{env: env, args: flags, packages: others}}
	if whole {
		lane = append(lane, &step{
			form:     "without the fast path",
			env:      append(env, fastPathOff),
			args:     append([]string{"-run", httpTests}, flags...),
			packages: []pkg{{name: endToEnd}},
		})
	}
	return report([]*step{withRace}, lane)
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

func buildPrograms() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "petstore-suite-"); err != nil {
		return "", err
	}
	build := exec.Command("make", "-s", "build", "BIN="+dir, "LDFLAGS=-X main.version=v0.0.0-e2e")
	build.Env, build.Stderr = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL="), os.Stderr
	if err := build.Run(); err != nil {
		return dir, fmt.Errorf("make build: %w", err)
	}
	return dir, nil
}
