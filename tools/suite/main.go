// Suite runs the project's tests in the folder in which it is started, the root of the repository: go test over packages, whose tests start
// the servers that they need. It prints each package as it ends, with what it waits for; then the totals and the slowest packages; and last
// what failed, with the command that runs just this.
//
//	suite [PACKAGE …]          run the tests
//	suite needs [PACKAGE …]    print the programs that the packages' tests start
//	suite flakes N [PACKAGE …] run N copies of each package beside each other and beside busy loops, and print how many passed
//
// Without packages, or with ./..., suite runs all but those that make check runs, and then what runs in a second form: the tests of HTTP
// without the fast path, and the simulation without the race detector, which has ten times as many schedules then.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
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
	verb := ""
	if len(args) > 0 && (args[0] == "needs" || args[0] == "flakes") {
		verb, args = args[0], args[1:]
	}
	copies := 0
	if verb == "flakes" {
		n, err := strconv.Atoi(strings.Join(args[:min(1, len(args))], ""))
		if err != nil || n < 1 {
			return errors.New("suite flakes: want a number of copies, such as 20")
		}
		copies, args = n, args[1:]
	}
	packages, err := list(args)
	if err != nil {
		return err
	}
	switch verb {
	case "needs":
		fmt.Println(strings.Join(needs(packages), " "))
		return nil
	case "flakes":
		return flakes(packages, copies)
	}
	if whole(args) {
		return runWhole(packages)
	}
	return report(&step{env: []string{fastExit}, args: append(slices.Clone(raceFlags), paths(packages)...)})
}

func whole(patterns []string) bool {
	return len(patterns) == 0 || slices.Equal(patterns, []string{"./..."})
}

// No result comes from the cache: what it was made of is more than files and variables. The programs that the tests start have no race
// detector. All tests mostly wait, for databases and servers, so there are more at a time than processors. make check runs go vet.
var (
	plainFlags = []string{"-count=1", "-tags", tags, "-trimpath", "-vet", "off", "-timeout", "20m", "-p", "4", "-parallel", "6"}
	raceFlags  = append([]string{"-race"}, plainFlags...)
)

// simulation is a package whose schedules each run in one goroutine: the race detector would find nothing, in ten times as long.
const simulation = "internal/limits/distributed/simtest"

// fastExit: a binary with the race detector waits a second before it exits, in which goroutines that are left may race.
const fastExit = "GORACE=atexit_sleep_ms=50"

// httpTests are the end-to-end tests of what HTTP itself does. The others start several servers, of which every second has the fast path off.
const httpTests = "^Test(OngoingRequestIsFinished|OngoingListIsFinished|GoClient.*|IdempotencyKey|OrderMovesItsAnimal|KeyLimitAndUsage)$"

// runWhole builds the programs once for all packages.
func runWhole(packages []pkg) error {
	dir, err := os.MkdirTemp("", "petstore-suite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("make", "-s", "build", "BIN="+dir, "LDFLAGS=-X main.version=v0.0.0-e2e")
	build.Env, build.Stderr = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL="), os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("make build: %w", err)
	}
	programs := "PETSTORE_E2E_PROGRAMS=" + dir
	raced := slices.DeleteFunc(packages, func(p pkg) bool { return p.name == simulation })
	return report(
		&step{env: []string{programs, fastExit}, args: append(slices.Clone(raceFlags), paths(raced)...)},
		&step{
			form: "without the fast path", env: []string{programs, fastExit, "PETSTORE_E2E_SERVER_ENV=PETSTORE_HTTP_FAST_PATH=off"},
			args: append(slices.Clone(raceFlags), "-run", httpTests, "./internal/e2e"),
		},
		&step{
			form: "without the race detector", env: []string{"CGO_ENABLED=0"},
			args: append(slices.Clone(plainFlags), "./"+simulation),
		},
	)
}
