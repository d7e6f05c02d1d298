package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestMakeTestNeedsTwoServers: make test installs PostgreSQL and Redis, and nothing else of what it
// needs but curl.
func TestMakeTestNeedsTwoServers(t *testing.T) {
	packages, err := list(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := needs(packages, quick, true); !slices.Equal(got, []string{"postgres", "redis-server"}) {
		t.Errorf("make test installs %v", got)
	}
	if err := checkNames(); err != nil {
		t.Error(err)
	}
}

// TestEveryTestHasATier: what a whole make test leaves out, make test-all runs.
func TestEveryTestHasATier(t *testing.T) {
	packages, err := list(nil)
	if err != nil {
		t.Fatal(err)
	}
	inTier := func(tier tier) map[string]string {
		ran := map[string]string{}
		for _, lane := range lanes(packages, tier, nil, nil) {
			for _, s := range lane {
				how := strings.Join(s.args[:slices.Index(s.args, "-tags")], " ")
				for _, p := range s.packages {
					ran[p.name] += how + ";"
				}
			}
		}
		return ran
	}
	first, rest := inTier(quick), inTier(all)
	for _, p := range packages {
		switch {
		case first[p.name] == "" && rest[p.name] == "":
			t.Errorf("%s runs in neither tier", p.name)
		case onlyInAll(p) != (first[p.name] == ""):
			t.Errorf("%s in make test: %q", p.name, first[p.name])
		case p.starts && first[p.name] != "" && !strings.Contains(first[p.name], again):
			t.Errorf("%s starts programs, and its results come from the cache: %q", p.name, first[p.name])
		case raced(p) && !strings.Contains(rest[p.name], "-race"):
			t.Errorf("%s is without the race detector: %q", p.name, rest[p.name])
		}
	}
	if first, rest := first[endToEnd], rest[endToEnd]; !strings.Contains(first, "-run "+only(inQuick)) ||
		!strings.Contains(rest, "-skip "+only(inQuick)) {
		t.Errorf("the end-to-end tests: %q, then %q", first, rest)
	}
	for name, tests := range later {
		if got := rest[name]; !strings.Contains(got, "-race") && !strings.Contains(got, tests[0]) {
			t.Errorf("%v of %s: %q", tests, name, got)
		}
	}
	for _, name := range []string{"internal/structure", "internal/ctl/gendoc"} {
		if !strings.Contains(first[name], again) {
			t.Errorf("%s starts programs, and comes from the cache: %q", name, first[name])
		}
	}
}

// TestUnknownNamesAreErrors: a name in the tables that no test has would run nothing.
func TestUnknownNamesAreErrors(t *testing.T) {
	before := inQuick
	defer func() { inQuick = before }()
	inQuick = append(slices.Clone(inQuick), "TestNoSuchThing")
	if err := checkNames(); err == nil || !strings.Contains(err.Error(), "TestNoSuchThing") {
		t.Errorf("checkNames: %v", err)
	}
}
