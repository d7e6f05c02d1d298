package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	module = "petstore.example/"
	tags   = "nomsgpack" // as in make build
)

// pkg is a package with tests, and all that its test binary contains.
type pkg struct {
	name string // below the module
	deps []string
	// starts is true if its tests start a program, or may start one: Go's cache does not know what
	// that program reads.
	starts bool
}

// list returns the packages of the patterns that have tests, the slow ones first. If the patterns
// mean all packages, it leaves out elsewhere.
func list(patterns []string) ([]pkg, error) {
	everything := whole(patterns)
	if everything {
		patterns = []string{"./...", module + "client"} // the second is the module in clients/go
	}
	const format = `{{.ImportPath}}{{"\t"}}{{.Dir}}{{"\t"}}{{join .Imports ","}}{{"\t"}}{{join .Deps ","}}`
	args := append([]string{"list", "-test", "-deps", "-tags", tags, "-f", format}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	imports, dirs := map[string][]string{}, map[string]string{}
	var found []pkg
	for line := range strings.Lines(string(out)) {
		p := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		imports[p[0]], dirs[p[0]] = strings.Split(p[2], ","), p[1]
		name, binary := strings.CutSuffix(strings.TrimPrefix(p[0], module), ".test")
		if binary && !(everything && slices.Contains(elsewhere, name)) {
			found = append(found, pkg{name: name, deps: strings.Split(p[3], ",")})
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no tests in %s", strings.Join(patterns, " "))
	}
	for i, p := range found {
		inFiles, err := startedByTests(dirs[module+p.name])
		if err != nil {
			return nil, err
		}
		found[i].starts = inFiles || slices.ContainsFunc(p.deps, func(dep string) bool {
			return strings.HasPrefix(dep, module) && !strings.HasPrefix(dep, module+sandbox) &&
				slices.Contains(imports[dep], "os/exec")
		})
	}
	rank := func(p pkg) uint { return uint(slices.Index(slow, p.name)) } // other packages have -1, and so are last
	slices.SortStableFunc(found, func(a, b pkg) int { return cmp.Compare(rank(a), rank(b)) })
	return found, nil
}

// sandbox is the package whose Command starts programs in tests. All tests contain it.
const sandbox = "internal/test/sandbox"

var command = regexp.MustCompile(`\bsandbox\.Command`)

func startedByTests(dir string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || command.Match(text) {
			return err == nil, err
		}
	}
	return false, err
}

// contains reports whether the test binary contains one of our packages.
func (p pkg) contains(name string) bool {
	return slices.ContainsFunc(p.deps, func(dep string) bool {
		dep, _, _ = strings.Cut(dep, " ") // "p [q.test]" is p, compiled for the tests of q.
		return dep == module+name
	})
}

// needs returns the programs that the packages' tests start, except those that a whole make test
// leaves to test-all.
func needs(packages []pkg, t tier, whole bool) (programs []string) {
	for _, p := range packages {
		if t == quick && whole && onlyInAll(p) {
			continue
		}
		if t == all || !whole {
			programs = append(programs, programsOf[p.name]...)
		}
		for name, of := range programsFor {
			if p.contains(name) {
				programs = append(programs, of...)
			}
		}
	}
	slices.Sort(programs)
	return slices.Compact(programs)
}

// raced reports whether make test-all runs the package with the race detector, which sees only the
// test's own process. These packages are left out. The servers of the end-to-end tests and of the
// benchmarks are other processes; make soak builds those of the end-to-end tests with the detector.
// Each schedule of a simulation is one goroutine, and the structure tests only read sources. The
// others have no concurrency of their own: it is in the packages below them, which have the
// detector.
func raced(p pkg) bool {
	under := func(folder string) bool { return p.name == folder || strings.HasPrefix(p.name, folder+"/") }
	return path.Base(p.name) != "simtest" && !slices.ContainsFunc(unraced, under)
}

var unraced = []string{
	"bench", "internal/api/reference", "internal/ctl", "internal/e2e", "internal/store/migrate",
	"internal/structure", "internal/test/contract",
}
