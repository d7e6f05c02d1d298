package structure_test

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sandboxPackage keeps the variables of the shell from a test binary.
const sandboxPackage = module + "internal/test/sandbox"

// unboxed are the tests that start programs without sandbox.Command, with the reason.
var unboxed = map[string]string{
	"internal/test/sandbox/sandbox.go":      "it is that function",
	"internal/test/sandbox/sandbox_test.go": "it starts its own binary with the variables of a shell",
}

// TestProgramsRunInSandboxes: tests and what only tests use start programs by sandbox.Command. The
// modules in tools have no access to it.
func TestProgramsRunInSandboxes(t *testing.T) {
	t.Parallel()
	support, starting := map[string]bool{}, map[string]bool{}
	for path, text := range sources(t, ".go") {
		_, file := parse(t, path, text)
		if !strings.HasSuffix(path, "_test.go") && imports(file, "testing") {
			support[filepath.Dir(path)] = true
		}
		starting[path] = uses(file, "os/exec", "Command", "CommandContext")
	}
	for path, starts := range starting {
		if _, listed := unboxed[path]; listed != starts && listed {
			t.Errorf("%s starts no program: take it off the list", path)
		} else if starts && !listed && !strings.HasPrefix(path, "tools/") &&
			(support[filepath.Dir(path)] || strings.HasSuffix(path, "_test.go")) {
			t.Errorf("%s calls exec.Command: call sandbox.Command", path)
		}
	}
}

// TestReadersOfVariablesAreInSandboxes: a test binary with code that reads variables, such as
// libraries for PostgreSQL and for tracing, does not see those of the shell.
func TestReadersOfVariablesAreInSandboxes(t *testing.T) {
	t.Parallel()
	text := sources(t, ".go")
	reads := map[string]bool{"github.com/lib/pq": true, "go.opentelemetry.io/otel/sdk/trace": true}
	all := packages(t, "-test")
	for _, p := range all {
		folder, _, _ := strings.Cut(p.name(), " ")
		for _, name := range p.GoFiles {
			path := filepath.Join(strings.TrimSuffix(folder, "_test"), name)
			if text[path] != nil && !reads[p.ImportPath] {
				_, file := parse(t, path, text[path])
				reads[p.ImportPath] = uses(
					file,
					"os",
					"Getenv",
					"LookupEnv",
					"Environ",
					"ExpandEnv",
					"UserHomeDir",
					"UserConfigDir",
					"UserCacheDir",
				)
			}
		}
	}
	readers := 0
	for _, p := range all {
		if i := slices.IndexFunc(
			p.Deps,
			func(d string) bool { return reads[d] },
		); i >= 0 &&
			strings.HasSuffix(p.ImportPath, ".test") {
			readers++
			if !slices.Contains(p.Deps, sandboxPackage) && p.ImportPath != sandboxPackage+".test" {
				t.Errorf(
					"the tests of %s have %s, which reads variables: import %s in one of them",
					strings.TrimSuffix(p.name(), ".test"),
					p.Deps[i],
					sandboxPackage,
				)
			}
		}
	}
	if readers < 20 {
		t.Errorf("%d test binaries read variables: are others not found?", readers)
	}
}

func imports(file *ast.File, path string) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"`+path+`"` })
}

// uses tells whether a file uses one of the functions of a package of the standard library.
func uses(file *ast.File, path string, functions ...string) (found bool) {
	if !imports(file, path) {
		return false
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && x.Name == filepath.Base(path) && slices.Contains(functions, s.Sel.Name)
		}
		return !found
	})
	return found
}

// TestSleepsSayWhy: a test that waits for something waits for it (internal/test/wait), or has a
// clock of its own (testing/synctest). One that must sleep says why, on the line or on the one
// above.
func TestSleepsSayWhy(t *testing.T) {
	t.Parallel()
	for file, text := range sources(t, "_test.go") {
		if strings.Contains(string(text), `"testing/synctest"`) || slices.Contains(bubbled, file) {
			continue
		}
		before := ""
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "time.Sleep(") && !strings.Contains(line, "//") &&
				!strings.Contains(before, "//") {
				t.Errorf("%s: why does it sleep? %s", file, strings.TrimSpace(line))
			}
			before = line
		}
	}
}

// bubbled are files whose functions run in the bubbles of other files' tests.
var bubbled = []string{"internal/keys/callers/coming_test.go", "internal/structure/sandbox_test.go"}
