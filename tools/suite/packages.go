package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const (
	module = "petstore.example/"
	tags   = "nomsgpack" // as in make build
)

// elsewhere are the packages that make check runs: they need other people's tools, and make no
// promise of ours.
var elsewhere = []string{"internal/e2e/generators", "internal/e2e/packages"}

// slow are the packages that take longest. They start first, so that the others run beside them.
var slow = []string{
	"internal/e2e",
	"internal/ctl",
	"internal/e2e/alerts",
	"internal/e2e/running",
	"internal/store",
	"internal/test/browser",
	"internal/api",
	"internal/cluster",
	"internal/e2e/billing",
	"bench/scale",
	"bench",
	"client",
}

// programsFor are the programs that a test binary starts because it contains the package.
var programsFor = map[string][]string{
	"internal/localpg":        {"postgres"},
	"internal/test/redistest": {"redis-server"},
}

// exporters are those of Debian.
var exporters = []string{
	"prometheus-blackbox-exporter",
	"prometheus-node-exporter",
	"prometheus-postgres-exporter",
	"prometheus-redis-exporter",
}

// programsOf are the programs that the tests of a package start, besides those of programsFor.
// tools/install.sh knows them.
var programsOf = map[string][]string{
	"bench":                   {"wrk", "nginx", "redis-server"},
	"bench/load":              {"wrk"},
	"bench/scale":             {"redis-server"},
	"cmd/petstore":            {"systemd-analyze", "systemd-sysusers"},
	"internal/api":            {"python3"},
	"internal/test/browser":   {"chromium", "npm"},
	"internal/ctl":            {"python3", "curl"},
	"internal/e2e":            {"pgbouncer", "pgbackrest", "systemd-socket-activate", "curl", "python3", "npm"},
	"internal/e2e/alerts":     append([]string{"prometheus", "nginx", "mtail", "openssl"}, exporters...),
	"internal/e2e/generators": {"npm", "nginx"},
	"internal/e2e/packages":   {"debootstrap", "rpm", "systemd-sysusers"},
	"internal/e2e/running":    {"nginx", "haproxy", "caddy", "curl"},
}

// pkg is a package with tests, and all that its test binary contains.
type pkg struct {
	name string // below the module
	deps []string
}

// list returns the packages of the patterns that have tests, the slow ones first. For all of them
// it leaves out elsewhere.
func list(patterns []string) ([]pkg, error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	cmd := exec.Command(
		"go",
		append(
			[]string{"list", "-test", "-tags", tags, "-f", `{{.ImportPath}}{{"\t"}}{{join .Deps "\t"}}`},
			patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var found []pkg
	for line := range strings.Lines(string(out)) {
		p := strings.Split(strings.TrimSpace(line), "\t")
		name, binary := strings.CutSuffix(strings.TrimPrefix(p[0], module), ".test")
		if binary && !(whole(patterns) && slices.Contains(elsewhere, name)) {
			found = append(found, pkg{name: name, deps: p[1:]})
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no tests in %s", strings.Join(patterns, " "))
	}
	rank := func(p pkg) uint { return uint(slices.Index(slow, p.name)) } // the others, at -1, are last
	slices.SortStableFunc(found, func(a, b pkg) int { return cmp.Compare(rank(a), rank(b)) })
	return found, nil
}

// needs returns the programs that the packages' tests start.
func needs(packages []pkg) (programs []string) {
	for _, p := range packages {
		programs = append(programs, programsOf[p.name]...)
		for _, dep := range p.deps {
			dep, _, _ = strings.Cut(dep, " ") // "p [q.test]" is p, compiled for the tests of q.
			programs = append(programs, programsFor[strings.TrimPrefix(dep, module)]...)
		}
	}
	slices.Sort(programs)
	return slices.Compact(programs)
}
