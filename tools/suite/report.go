package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"gotest.tools/gotestsum/testjson"
)

// step is one go test -json.
type step struct {
	form      string // how its tests differ from another step's
	env, args []string
	packages  []pkg
	found     *testjson.Execution
}

// progress prints the packages of all steps as they end.
type progress struct {
	mu      sync.Mutex
	begin   time.Time
	running map[string]time.Time
	took    map[string]time.Duration
	printed time.Time
	racing  map[string]bool // packages whose report of a race is being printed
}

// errFailed is returned when the failures are printed already.
var errFailed = errors.New("FAIL")

// report runs the lanes at the same time, and the steps of each lane one after the other.
func report(lanes ...[]*step) error {
	p := &progress{
		begin:   time.Now(),
		running: map[string]time.Time{},
		took:    map[string]time.Duration{},
		printed: time.Now(),
		racing:  map[string]bool{},
	}
	done := make(chan struct{})
	go p.tick(done)
	var all errgroup.Group
	for _, lane := range lanes {
		all.Go(func() (err error) {
			for _, s := range lane {
				err = cmp.Or(err, s.run(p))
			}
			return err
		})
	}
	err := all.Wait()
	close(done)
	p.printTotals(slices.Concat(lanes...))
	return err
}

func (s *step) run(p *progress) error {
	if len(s.packages) == 0 {
		return nil
	}
	args := append([]string{"test", "-json"}, s.args...)
	for _, p := range s.packages {
		args = append(args, module+p.name)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), s.env...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.found, err = testjson.ScanTestOutput(testjson.ScanConfig{
		Stdout: stdout, Stderr: stderr, Handler: handler{p, s.form}, IgnoreNonJSONOutputLines: true,
	})
	if failed := cmd.Wait(); failed != nil && err == nil {
		err = errFailed
	}
	return err
}

// handler hands the events of one step to progress.
type handler struct {
	*progress
	form string
}

// Err prints messages of go test itself, such as about a package that does not compile.
func (h handler) Err(text string) error {
	fmt.Fprintln(os.Stderr, text)
	return nil
}

func (h handler) Event(e testjson.TestEvent, found *testjson.Execution) error {
	h.printRace(e)
	if !e.PackageEvent() || e.Package == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	name := strings.TrimSpace(strings.TrimPrefix(e.Package, module) + " " + h.form)
	switch {
	case e.Action == "start":
		h.running[name] = time.Now()
	case e.Action.IsTerminal():
		delete(h.running, name)
		h.took[name] = found.Package(e.Package).Elapsed()
		word := "ok"
		if e.Action == testjson.ActionFail {
			word = "FAIL"
			others := func(c testjson.TestCase) bool { return c.Package != e.Package }
			printOutput(found, h.form, slices.DeleteFunc(found.Failed(), others))
		}
		fmt.Printf("%-5s%6.1fs  %-44s %s\n", word, h.took[name].Seconds(), name, h.waiting())
		h.printed = time.Now()
	}
	return nil
}

// printRace prints a report of the race detector at once, because go test assigns it to any test
// that is running.
func (h handler) printRace(e testjson.TestEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	begins, ends := strings.HasPrefix(e.Output, "WARNING: DATA RACE"), strings.HasPrefix(e.Output, "======")
	if begins || h.racing[e.Package] {
		fmt.Print(e.Output)
		h.racing[e.Package] = !ends
	}
}

// waiting names the running packages, the oldest first.
func (p *progress) waiting() string {
	if len(p.running) == 0 {
		return ""
	}
	names := slices.SortedFunc(
		maps.Keys(p.running),
		func(a, b string) int { return p.running[a].Compare(p.running[b]) },
	)
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %.0fs", name, time.Since(p.running[name]).Seconds())
	}
	return "waiting for " + strings.Join(names, ", ")
}

// tick prints what is running when no package has ended for a while.
func (p *progress) tick(done <-chan struct{}) {
	const pause = 20 * time.Second
	for {
		select {
		case <-done:
			return
		case <-time.After(pause / 10):
		}
		p.mu.Lock()
		if time.Since(p.printed) >= pause {
			fmt.Printf("%10.0fs  %s\n", time.Since(p.begin).Seconds(), cmp.Or(p.waiting(), "compiling"))
			p.printed = time.Now()
		}
		p.mu.Unlock()
	}
}

// printTotals prints the slowest packages, the failures, and last how many tests passed.
func (p *progress) printTotals(steps []*step) {
	names := slices.SortedFunc(maps.Keys(p.took), func(a, b string) int { return cmp.Compare(p.took[b], p.took[a]) })
	fmt.Printf("\n%d packages in %v. The slowest:\n", len(names), time.Since(p.begin).Round(time.Second))
	for _, name := range names[:min(10, len(names))] {
		fmt.Printf("%10.1fs  %s\n", p.took[name].Seconds(), name)
	}
	total, skipped, failed := 0, 0, 0
	for _, s := range steps {
		if s.found == nil {
			continue
		}
		cases := s.found.Failed()
		s.printFailures(cases)
		total, skipped, failed = total+s.found.Total(), skipped+len(s.found.Skipped()), failed+len(cases)
	}
	fmt.Printf("\n%d passed, %d failed, %d skipped\n", max(0, total-skipped-failed), failed, skipped)
}

// printOutput prints the output of each test that failed.
func printOutput(found *testjson.Execution, form string, cases []testjson.TestCase) {
	for _, c := range cases {
		fmt.Printf(
			"\n=== FAIL: %s %s %s(%.1fs)\n",
			strings.TrimPrefix(c.Package, module),
			c.Test,
			form,
			c.Elapsed.Seconds(),
		)
		for _, line := range found.OutputLines(c) {
			fmt.Print(line)
		}
	}
}

// printFailures prints the output of each failed test again, and the command that runs it alone.
func (s *step) printFailures(cases []testjson.TestCase) {
	printOutput(s.found, s.form, cases)
	for _, c := range testjson.FilterFailedUnique(cases) {
		command := []string{"go test -tags", tags}
		if s.form != "" {
			command = append([]string{fastPathOff}, command...)
		}
		if slices.Contains(s.args, "-race") {
			command = append(command, "-race")
		}
		if c.Test != "" {
			command = append(command, "-run '^"+strings.ReplaceAll(c.Test.Name(), "/", "$/^")+"$'")
		}
		fmt.Println(
			"\nto run it alone:",
			strings.Join(append(command, c.Package), " "),
		)
	}
}
