package structure_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
)

const module = "petstore.example/"

// root is the repository, seen from here.
const root = "../.."

// pkg is what go list says of a package, tests left out.
type pkg struct {
	ImportPath string
	Doc        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func (p pkg) name() string { return strings.TrimPrefix(p.ImportPath, module) }

// below says which of our packages each of ours may import: a package that is not named here may
// import none. "*" stands for all.
var below = map[string][]string{
	"cmd/petstore": {
		"internal/audit",
		"internal/buildinfo",
		"internal/catalog",
		"internal/devfile",
		"internal/envvars",
		"internal/keys",
		"internal/localpg",
		"internal/mail",
		"internal/ownfiles",
		"internal/plans",
		"internal/server",
		"internal/server/config",
		"internal/store",
		"internal/store/migrate",
		"internal/store/tenancy",
		"internal/webhooks",
	},
	"cmd/petstorectl": {"internal/ctl", "internal/ctl/cmdutil"},

	"internal/server": {
		"internal/account",
		"internal/advice",
		"internal/api",
		"internal/api/problem",
		"internal/buildinfo",
		"internal/cluster",
		"internal/connlimit",
		"internal/envvars",
		"internal/fairqueue",
		"internal/freshness",
		"internal/httpfast",
		"internal/keys",
		"internal/keys/callers",
		"internal/keys/strikes",
		"internal/limits",
		"internal/limits/distributed",
		"internal/limits/redisbackend",
		"internal/loglimit",
		"internal/mail",
		"internal/server/config",
		"internal/store",
		"internal/store/changefeed",
		"internal/store/migrate",
		"internal/store/admin",
		"internal/store/pgconn",
		"internal/store/undo",
		"internal/storeclock",
		"internal/tracing",
		"internal/usage",
		"internal/webhooks",
	},
	"internal/server/config": {
		"internal/api",
		"internal/api/problem",
		"internal/envvars",
		"internal/keys",
		"internal/limits/redisbackend",
		"internal/mail",
		"internal/store",
		"internal/tracing",
		"internal/webhooks",
	},

	"internal/ctl": {
		"internal/buildinfo",
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/ctl/tenant",
		"internal/ctl/key",
		"internal/ctl/plan",
		"internal/ctl/ban",
		"internal/ctl/limits",
		"internal/ctl/retention",
		"internal/ctl/webhook",
		"internal/ctl/usage",
		"internal/ctl/audit",
		"internal/ctl/why",
		"internal/ctl/tail",
		"internal/ctl/undo",
		"internal/ctl/doctor",
		"internal/ctl/migrate",
		"internal/ctl/staff",
		"internal/ctl/login",
	},
	"internal/ctl/gendoc": {"internal/ctl", "internal/ctl/cmdutil"},
	"internal/ctl/cmdutil": {
		"internal/ctl/output",
		"internal/store",
		"internal/store/billing",
		"internal/store/migrate",
		"internal/store/admin",
		"internal/store/tenancy",
		"internal/store/trail",
		"internal/store/undo",
		"internal/keys",
		"internal/plans",
		"internal/audit",
		"internal/devfile",
		"internal/ownfiles",
		"internal/staff",
		"internal/envvars",
		"internal/spelling",
		"internal/ctl/profiles",
		"internal/advice",
	},
	"internal/ctl/tenant": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/store",
		"internal/store/billing",
		"internal/store/admin",
		"internal/store/tenancy",
		"internal/keys",
		"internal/plans",
		"internal/audit",
	},
	"internal/ctl/key": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/store",
		"internal/store/tenancy",
		"internal/keys",
		"internal/audit",
	},
	"internal/ctl/webhook": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/store",
		"internal/store/webhooks",
		"internal/webhooks",
		"internal/audit",
	},
	"internal/ctl/retention": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/store",
		"internal/store/admin",
		"internal/audit",
	},
	"internal/ctl/limits": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/store",
		"internal/store/admin",
		"internal/audit",
	},
	"internal/ctl/ban": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/store",
		"internal/store/tenancy",
		"internal/keys",
		"internal/audit",
	},
	"internal/ctl/audit": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/store",
		"internal/store/trail",
		"internal/audit",
	},
	"internal/ctl/undo": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/store",
		"internal/store/pricing",
		"internal/store/trail",
		"internal/store/undo",
		"internal/audit",
	},
	"internal/ctl/usage": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/store",
		"internal/store/billing",
		"internal/audit",
		"internal/usage/closing",
		"internal/usage/events",
		"internal/usage/receivers",
	},
	"internal/ctl/doctor": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/store",
		"internal/store/billing",
		"internal/store/migrate",
		"internal/store/admin",
		"internal/cluster",
		"internal/advice",
		"internal/webhooks",
		"internal/mail",
	},
	"internal/ctl/migrate": {"internal/ctl/cmdutil", "internal/ctl/output", "internal/store/migrate"},
	"internal/ctl/plan": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/ctl/tenant",
		"internal/store",
		"internal/store/billing",
		"internal/store/pricing",
		"internal/plans",
		"internal/usage",
		"internal/audit",
	},
	"internal/ctl/tail": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/ctl/key",
		"internal/store",
		"internal/store/billing",
		"internal/usage",
	},
	"internal/ctl/why": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/ctl/tenant",
		"internal/ctl/key",
		"internal/ctl/ban",
		"internal/ctl/audit",
		"internal/store",
		"internal/store/billing",
		"internal/store/tenancy",
		"internal/store/trail",
		"internal/diagnose",
		"internal/keys",
		"internal/limits",
		"internal/plans",
		"internal/usage",
		"internal/audit",
	},

	"internal/ctl/output":   {"internal/spelling"},
	"internal/ctl/profiles": {"internal/store", "internal/ownfiles", "internal/envvars"},
	"internal/ctl/staff": {
		"internal/ctl/cmdutil",
		"internal/ctl/output",
		"internal/store",
		"internal/store/admin",
		"internal/staff",
		"internal/audit",
	},
	"internal/ctl/login": {
		"internal/ctl/cmdutil",
		"internal/ctl/profiles",
		"internal/ctl/output",
		"internal/store",
		"internal/store/admin",
	},

	"internal/api": {
		"internal/freshness",
		"internal/limits",
		"internal/loglimit",
		"internal/tracing",
		"internal/api/reference",
		"internal/api/jsonbody",
		"internal/api/httpfield",
		"internal/api/pagecache",
		"internal/api/problem",
		"internal/api/gate",
		"internal/api/shares",
		"internal/keys",
		"internal/plans",
		"internal/catalog",
		"internal/diagnose",
		"internal/usage",
		"internal/spelling",
		"internal/webhooks",
	},
	"internal/keys":     {"internal/plans", "internal/audit"},
	"internal/webhooks": {"internal/catalog", "internal/keys"},
	"internal/mail":     {"internal/keys", "internal/ownfiles", "internal/plans", "internal/spelling"},
	"internal/plans":    {"internal/spelling"},
	"internal/store": {
		"internal/audit",
		"internal/store/billing",
		"internal/store/catalog",
		"internal/store/counters",
		"internal/store/admin",
		"internal/store/tenancy",
		"internal/store/pgconn",
		"internal/store/pricing",
		"internal/store/tenants",
		"internal/store/trail",
		"internal/store/undo",
		"internal/store/webhooks",
	},

	"internal/store/tenants": {"internal/plans", "internal/store/pgconn"},
	"internal/store/trail":   {"internal/audit", "internal/keys", "internal/store/pgconn", "internal/store/tenants"},
	"internal/store/undo": {
		"internal/audit",
		"internal/store/pgconn",
		"internal/store/tenants",
		"internal/store/trail",
	},
	"internal/store/catalog": {"internal/catalog", "internal/store/pgconn"},
	"internal/store/pricing": {
		"internal/audit",
		"internal/plans",
		"internal/store/pgconn",
		"internal/store/tenants",
		"internal/store/trail",
		"internal/store/undo",
	},
	"internal/store/tenancy": {
		"internal/audit",
		"internal/catalog",
		"internal/keys",
		"internal/keys/callers",
		"internal/keys/strikes",
		"internal/plans",
		"internal/store/catalog",
		"internal/store/pgconn",
		"internal/store/pricing",
		"internal/store/tenants",
		"internal/store/trail",
		"internal/store/undo",
	},
	"internal/store/webhooks": {
		"internal/audit",
		"internal/catalog",
		"internal/keys",
		"internal/store/catalog",
		"internal/store/pgconn",
		"internal/store/tenancy",
		"internal/store/trail",
		"internal/webhooks",
		"internal/mail",
	},
	"internal/usage":           {"internal/plans"},
	"internal/usage/receivers": {"internal/envvars", "internal/ownfiles", "internal/usage/events"},
	"internal/store/billing": {
		"internal/audit",
		"internal/plans",
		"internal/store/pgconn",
		"internal/store/tenants",
		"internal/store/trail",
		"internal/store/undo",
		"internal/usage",
		"internal/usage/closing",
		"internal/usage/events",
	},
	"internal/store/admin": {
		"internal/audit",
		"internal/plans",
		"internal/staff",
		"internal/store/catalog",
		"internal/store/counters",
		"internal/store/tenancy",
		"internal/store/pgconn",
		"internal/store/tenants",
		"internal/store/trail",
		"internal/usage",
	},
	"internal/store/changefeed": {"internal/keys", "internal/store/counters", "internal/store/pgconn"},
	"internal/store/counters": {
		"internal/limits",
		"internal/limits/counter",
		"internal/cluster",
		"internal/store/pgconn",
	},
	"internal/store/migrate": {"internal/store/pgconn", "migrations"},
	"internal/store/pgconn": {
		"internal/keys", "internal/catalog", "internal/usage", "internal/ownfiles", "internal/envvars",
		"internal/spelling",
	},
	"internal/fairqueue": {"internal/catalog", "internal/keys", "internal/usage"},
	"internal/diagnose": {
		"docs",
		"internal/keys",
		"internal/limits",
		"internal/plans",
		"internal/spelling",
		"internal/usage",
	},

	"internal/limits":         {"internal/plans", "internal/freshness"},
	"internal/limits/counter": {"internal/limits"},
	"internal/limits/distributed": {
		"internal/limits",
		"internal/limits/counter",
		"internal/plans",
		"internal/cluster",
		"internal/freshness",
	},
	"internal/limits/redisbackend": {
		"internal/limits",
		"internal/limits/counter",
		"internal/limits/distributed",
		"internal/freshness",
		"internal/envvars",
	},

	"internal/keys/callers": {"internal/keys", "internal/plans"},
	"internal/keys/strikes": {"internal/keys"},

	"internal/account": {
		"internal/catalog",
		"internal/diagnose",
		"internal/keys",
		"internal/limits",
		"internal/mail",
		"internal/plans",
		"internal/spelling",
		"internal/usage",
		"internal/webhooks",
	},

	"internal/api/gate": {
		"internal/api/httpfield",
		"internal/api/problem",
		"internal/api/shares",
		"internal/keys",
		"internal/limits",
		"internal/plans",
		"internal/usage",
	},
	"internal/api/problem": {
		"internal/api/jsonbody", "internal/catalog", "internal/keys", "internal/usage", "internal/webhooks",
	},
	"internal/api/pagecache": {"internal/freshness", "internal/api/httpfield"},
	"internal/api/reference": {"internal/api/httpfield", "clients"},
	"clients":                {},

	"internal/devfile": {"internal/ownfiles"},
	"internal/advice":  {},
	"internal/envvars": {"internal/spelling"},
	"internal/localpg": {"internal/subprocess", "internal/ownfiles"},
}

// knows says which of our packages may import a library; "internal/ctl/..." stands for all of a
// folder. A library that is not named here is free for all.
var knows = map[string][]string{
	"database/sql":                         {"internal/store/..."},
	"github.com/lib/pq":                    {"internal/store/..."},
	"github.com/jmoiron/sqlx":              {"internal/store/pgconn"},
	"github.com/jackc/pgservicefile":       {"internal/store/pgconn"},
	"github.com/golang-migrate/migrate/v4": {"internal/store/migrate"},
	"github.com/redis/go-redis/v9":         {"internal/limits/redisbackend", "internal/server"},
	"github.com/gin-gonic/gin":             {"internal/api"},
	"github.com/spf13/cobra":               {"cmd/petstore", "internal/ctl/..."},
	"github.com/klauspost/compress":        {"internal/api/pagecache", "internal/api/reference"},
	"github.com/maypok86/otter/v2":         {"internal/api/pagecache"},
	"code.dny.dev/ssrf":                    {"internal/webhooks"},
	"github.com/wneessen/go-mail":          {"internal/mail"},
	"go.opentelemetry.io":                  {"internal/tracing", "internal/api", "internal/server"},
}

// ignorant packages must not reach these libraries by any way, their own imports' imports included.
var ignorant = map[string][]string{
	"internal/plans": {
		"database/sql",
		"github.com/lib/pq",
		"github.com/gin-gonic/gin",
		"github.com/redis/go-redis/v9",
		"net/http",
	},
	"internal/limits": {
		"database/sql",
		"github.com/lib/pq",
		"github.com/gin-gonic/gin",
		"github.com/redis/go-redis/v9",
	},
	"internal/catalog": {
		"database/sql",
		"github.com/lib/pq",
		"github.com/gin-gonic/gin",
		"github.com/redis/go-redis/v9",
		"net/http",
	},
	"internal/usage": {
		"database/sql",
		"github.com/lib/pq",
		"github.com/gin-gonic/gin",
		"github.com/redis/go-redis/v9",
	},
	"internal/cluster": {"database/sql", "github.com/lib/pq", "github.com/redis/go-redis/v9", "net/http"},
	"internal/audit":   {"database/sql", "github.com/lib/pq", "github.com/gin-gonic/gin", "net/http"},
	"internal/staff":   {"database/sql", "github.com/lib/pq", "github.com/spf13/cobra", "net/http"},
	"internal/keys":    {"database/sql", "github.com/lib/pq", "github.com/gin-gonic/gin", "github.com/spf13/cobra"},
	"internal/webhooks": {
		"database/sql",
		"github.com/lib/pq",
		"github.com/gin-gonic/gin",
		"github.com/spf13/cobra",
	},
	"internal/api": {"database/sql", "github.com/lib/pq", "github.com/jmoiron/sqlx", "github.com/spf13/cobra"},
	"internal/api/gate": {
		"database/sql",
		"github.com/lib/pq",
		"github.com/gin-gonic/gin",
		"github.com/spf13/cobra",
	},
	"internal/fairqueue": {"database/sql", "github.com/lib/pq", "github.com/gin-gonic/gin"},
	"internal/diagnose":  {"database/sql", "github.com/lib/pq", "github.com/gin-gonic/gin", "github.com/spf13/cobra"},

	"internal/limits/distributed": {
		"database/sql",
		"github.com/lib/pq",
		"github.com/gin-gonic/gin",
		"github.com/redis/go-redis/v9",
	},

	"internal/usage/events":    {"database/sql", "github.com/spf13/cobra", "net/http"},
	"internal/usage/receivers": {"database/sql", "github.com/spf13/cobra"},

	"internal/keys/callers": {
		"database/sql",
		"github.com/lib/pq",
		"github.com/gin-gonic/gin",
		"github.com/spf13/cobra",
	},
	"internal/keys/strikes": {
		"database/sql",
		"github.com/lib/pq",
		"github.com/gin-gonic/gin",
		"github.com/spf13/cobra",
	},
	"internal/store":  {"github.com/gin-gonic/gin", "github.com/spf13/cobra"},
	"internal/server": {"github.com/spf13/cobra"},
}

// aside packages help to test and to measure. They may import what they want, and no program is
// made of them.
func aside(name string) bool {
	return name == "internal/structure" || strings.HasSuffix(name, "/simtest") ||
		covers("internal/test/...", name) || covers("internal/e2e/...", name) || covers("bench/...", name)
}

// TestTheOracleKnowsNothing: the judge of the programs shares no code with them, not even in its
// tests.
func TestTheOracleKnowsNothing(t *testing.T) {
	t.Parallel()
	const oracle = "internal/test/oracle"
	seen := 0
	for _, p := range packages(t, "-test") {
		if !strings.HasPrefix(p.name(), oracle) {
			continue
		}
		seen++
		for _, i := range p.Deps {
			if name, ours := strings.CutPrefix(i, module); ours && !strings.HasPrefix(name, "internal/test/") {
				t.Errorf("%s depends on %s", p.name(), name)
			}
		}
	}
	assert.True(t, seen >= 2, "go list found", seen, "packages of", oracle)
}

func TestImportsGoDownwards(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if aside(p.name()) {
			continue
		}
		allowed := below[p.name()]
		for _, i := range p.Imports {
			name, ours := strings.CutPrefix(i, module)
			if ours && !slices.Contains(allowed, name) && !slices.Contains(allowed, "*") {
				t.Errorf("%s imports %s, which is not below it", p.name(), name)
			}
			if ours && aside(name) {
				t.Errorf("%s imports %s, which is for tests", p.name(), name)
			}
		}
	}
}

// TestTheTableOfRoomsIsTrue: docs/architecture.md names every package of the programs with what it
// may import.
func TestTheTableOfRoomsIsTrue(t *testing.T) {
	t.Parallel()
	said := rooms(t)
	for _, p := range packages(t) {
		if aside(p.name()) {
			continue
		}
		got, ok := said[p.name()]
		want := slices.Sorted(slices.Values(below[p.name()]))
		if !ok || !slices.Equal(got, want) {
			t.Errorf("docs/architecture.md lets %s import %q (named there: %v), the rules %q", p.name(), got, ok, want)
		}
	}
}

// rooms reads the table of rooms: by package, what it may import, in order and as the rules name
// it.
func rooms(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	assert.NoError(t, err)
	found := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		var imports []string
		for _, name := range strings.Split(strings.TrimSpace(cells[3]), ", ") {
			switch name {
			case "–":
			case "all":
				imports = append(imports, "*")
			case "docs", "migrations", "clients":
				imports = append(imports, name)
			default:
				imports = append(imports, "internal/"+name)
			}
		}
		slices.Sort(imports)
		for _, name := range strings.Split(strings.TrimSpace(cells[1]), ", ") {
			found[strings.Trim(name, "`")] = imports
		}
	}
	return found
}

func TestLibrariesAreKnownInOnePlace(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if aside(p.name()) {
			continue
		}
		for _, i := range p.Imports {
			for library, who := range knows {
				if within(i, library) && !slices.ContainsFunc(who, func(w string) bool { return covers(w, p.name()) }) {
					t.Errorf("%s imports %s; only %s may", p.name(), i, strings.Join(who, " and "))
				}
			}
		}
		for _, library := range ignorant[p.name()] {
			for _, d := range p.Deps {
				if within(d, library) {
					t.Errorf("%s depends on %s", p.name(), d)
				}
			}
		}
	}
}

// TestRulesNamePackages: a rule about a package that is gone guards nothing.
func TestRulesNamePackages(t *testing.T) {
	t.Parallel()
	exists := map[string]bool{"*": true}
	for _, p := range packages(t) {
		exists[p.name()] = true
	}
	for upper, lower := range below {
		for _, name := range append(slices.Clone(lower), upper) {
			assert.True(t, exists[name], "the rules of imports name", name, "which does not exist")
		}
	}
	for name := range ignorant {
		assert.True(t, exists[name], "the rules of libraries name", name, "which does not exist")
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.name())
		}
	}
}

// covers tells whether a name, which may end in "/...", stands for the package.
func covers(pattern, name string) bool {
	folder, all := strings.CutSuffix(pattern, "/...")
	return name == folder || all && strings.HasPrefix(name, folder+"/")
}

// within tells whether path is the library or a package of it. Of the standard library, a package
// stands for itself.
func within(path, library string) bool {
	return path == library || strings.Contains(path, ".") && strings.HasPrefix(path, library+"/")
}

// packages are ours; with the flag -test those of tests too, and the test binaries.
func packages(t *testing.T, flags ...string) []pkg {
	t.Helper()
	list := append([]string{"list", "-tags", "nomsgpack", "-json=ImportPath,Doc,GoFiles,Imports,Deps"}, flags...)
	cmd := sandbox.CommandIn(root, "go", append(list, "./...")...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	assert.NoError(t, err, "go list", &complaints)
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < len(below) {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}
