package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// tier is the set of tests that a command runs.
type tier int

const (
	quick tier = iota // make test: what a person waits for
	all               // make test-all: the rest
)

// endToEnd has the tests with the programs. make test runs only those in inQuick, by name.
const endToEnd = "internal/e2e"

var inQuick = []string{
	"TestDev", "TestDocumentedSetup", "TestCheck", "TestStartup", "TestExactness", "TestChangesApplyEverywhere",
	"TestTenantsNeverMeet", "TestNeverStaleSoleServer", "TestSecretsStaySecret", "TestCustomersManageKeys",
	"TestRedisAway", "TestOracle", "TestDeadEndpointsAreFoundByMail",
}

// later are the tests, by name, that make test leaves to make test-all. They start other people's
// programs, which make test does not install, or kill migrations for most of a minute.
var later = map[string][]string{
	"cmd/petstore": {"TestUnits", "TestBackupUnits", "TestUser"},
	"internal/api": {"TestLongBodyGetsItsAnswer"},
	"internal/ctl": {"TestDocumentedVerifier", "TestStripeMock"},

	"internal/store/webhooks": {"TestFiftyMonths"},

	"internal/store/migrate": {"TestNoRequestWaitsLong", "TestKilledMigrations", "TestKilledIndex"},
}

// onlyInAll reports whether make test leaves the whole package to make test-all.
func onlyInAll(p pkg) bool {
	return strings.HasPrefix(p.name, endToEnd+"/") || p.name == "internal/test/browser" ||
		p.name == "bench" || strings.HasPrefix(p.name, "bench/")
}

// elsewhere are the packages that only make check runs. They need other people's tools, and check
// no promise of ours.
var elsewhere = []string{"internal/e2e/generators", "internal/e2e/packages"}

// slow are the packages that take longest. They start first, so that the others run at the same
// time.
var slow = []string{
	"internal/e2e",
	"internal/ctl",
	"internal/e2e/alerts",
	"internal/e2e/running",
	"internal/e2e/clients",
	"internal/store/catalog",
	"internal/store/tenancy",
	"internal/store/billing",
	"internal/store",
	"internal/test/browser",
	"internal/api",
	"internal/cluster",
	"internal/e2e/billing",
	"bench/scale",
	"bench",
	"client",
}

// programsFor are the programs that a test binary starts if it contains the package.
var programsFor = map[string][]string{
	"internal/localpg":        {"postgres"},
	"internal/test/redistest": {"redis-server"},
}

// exporters are Debian's Prometheus exporters.
var exporters = []string{
	"prometheus-blackbox-exporter",
	"prometheus-node-exporter",
	"prometheus-postgres-exporter",
	"prometheus-redis-exporter",
}

// programsOf are the programs that a package's tests start, in addition to programsFor.
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
	"internal/e2e/clients":    {"chromium", "nginx", "npm", "python3", "python3-venv"},
	"internal/e2e/alerts":     append([]string{"prometheus", "nginx", "mtail", "openssl"}, exporters...),
	"internal/e2e/generators": {"npm", "nginx", "mvn"},
	"internal/e2e/packages":   {"debootstrap", "rpm", "systemd-sysusers"},
	"internal/e2e/running":    {"nginx", "haproxy", "caddy", "curl"},
}

// checkNames refuses a name in these tables if no test has it: it would run nothing, and nobody
// would notice.
func checkNames() error {
	tables := map[string][]string{endToEnd: inQuick}
	for name, tests := range later {
		tables[name] = tests
	}
	for name, tests := range tables {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(name), "*_test.go"))
		if err != nil {
			return err
		}
		var text []byte
		for _, file := range files {
			more, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			text = append(text, more...)
		}
		for _, test := range tests {
			if !regexp.MustCompile(`(?m)^func ` + test + `\(t \*testing\.T\)`).Match(text) {
				return fmt.Errorf("tools/suite/tiers.go names %s of %s, which does not exist", test, name)
			}
		}
	}
	return nil
}

// only is the pattern of go test -run and -skip for these tests.
func only(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

// flags are the flags of every go test. The tests of most packages wait for databases and servers,
// so more packages run at a time than there are processors. make check runs go vet.
var flags = []string{
	"-tags", tags, "-trimpath", "-vet", "off", "-ldflags", "-s -w", "-timeout", "20m", "-p", "2", "-parallel", "3",
}

const (
	// httpTests are the end-to-end tests of HTTP itself. The other end-to-end tests start several
	// servers, and every second server has the fast path off.
	httpTests   = "^Test(OngoingRequestIsFinished|OngoingListIsFinished|GoClient)$"
	fastPathOff = "PETSTORE_E2E_SERVER_ENV=PETSTORE_HTTP_FAST_PATH=off"

	// By default a binary with the race detector waits a second before it exits, in which leftover
	// goroutines may race.
	fastExit = "GORACE=atexit_sleep_ms=50"

	again = "-count=1" // no cached results
)

// args returns flags with further ones before them.
func args(further ...string) []string { return slices.Concat(further, flags) }

// lanes returns the steps of a whole tier. Lanes run at the same time, the steps of a lane one
// after the other. make test compiles as make build does, so that nothing is compiled twice.
func lanes(packages []pkg, t tier, asBuild, withRace []string) [][]*step {
	if t == quick {
		skipped := only(slices.Concat(slices.Collect(maps.Values(later))...))
		var starting, cached []pkg
		for _, p := range packages {
			switch {
			case onlyInAll(p) || p.name == endToEnd:
			case p.starts:
				starting = append(starting, p)
			default:
				cached = append(cached, p)
			}
		}
		// -short runs a fifth of the simulations' schedules.
		return [][]*step{
			{{env: asBuild, args: args("-short", again, "-skip", skipped), packages: starting}},
			{
				{env: asBuild, args: args("-short", again, "-run", only(inQuick)), packages: []pkg{{name: endToEnd}}},
				{env: []string{"CGO_ENABLED=0"}, args: args("-short", "-skip", skipped), packages: cached},
			},
		}
	}
	var others, race, few []pkg
	for _, p := range packages {
		switch {
		case raced(p):
			race = append(race, p)
		case later[p.name] != nil:
			few = append(few, p)
		case onlyInAll(p) || strings.HasSuffix(p.name, "/simtest"):
			others = append(others, p)
		}
	}
	var byName []string
	for _, p := range few {
		byName = append(byName, later[p.name]...)
	}
	e2e := []pkg{{name: endToEnd}}
	return [][]*step{
		{{env: withRace, args: args("-race", again), packages: race}},
		{
			{env: asBuild, args: args(again, "-skip", only(inQuick)), packages: e2e},
			{env: asBuild, args: args(again), packages: others},
			{env: asBuild, args: args(again, "-run", only(byName)), packages: few},
			{
				form:     "without the fast path",
				env:      append(asBuild, fastPathOff),
				args:     args(again, "-run", httpTests),
				packages: e2e,
			},
		},
	}
}

// chosen returns the steps for named packages: all of their tests, and for test-all with the race
// detector.
func chosen(packages []pkg, t tier, asBuild, withRace []string) [][]*step {
	var race, others []pkg
	for _, p := range packages {
		if t == all && raced(p) {
			race = append(race, p)
		} else {
			others = append(others, p)
		}
	}
	return [][]*step{
		{{env: withRace, args: args("-race", again), packages: race}},
		{{env: asBuild, args: args(again), packages: others}},
	}
}
