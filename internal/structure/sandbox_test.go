package structure_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/test/sandbox"
)

const sandboxPackage = module + "internal/test/sandbox"

// ownCommands are the files of tests that start programs without sandbox.Command, each with the reason.
var ownCommands = map[string]string{
	"internal/test/sandbox/sandbox.go":                    "makes the command",
	"internal/test/sandbox/sandbox_test.go":               "starts this binary with a hostile environment",
	"internal/e2e/programs/build.go":                      "builds before the first test",
	"internal/e2e/clocks_test.go":                         "asks for GOROOT before the first test",
	"internal/ctl/programs_test.go":                       "builds before the first test",
	"internal/subprocess/process_test.go":                 "is the parent of another process, and no test",
	"internal/browser/browser_test.go":                    "ends a browser with all of its processes",
	"internal/limits/redisbackend/redistest/redistest.go": "a server outlives the test that comes first",
	"internal/store/storetest/standby.go":                 "PostgreSQL's own programs, in the sandbox of the test binary",
}

// TestProgramsStartInASandbox: what a test starts knows nothing of the developer's shell, folder and HOME.
func TestProgramsStartInASandbox(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for file, text := range sources(t, ".go") {
		if strings.HasPrefix(file, "tools/") || !strings.HasSuffix(file, "_test.go") && !aside(path.Dir(file)) || strings.HasPrefix(file, "bench/") {
			continue
		}
		set, parsed := parse(t, file, text)
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "Command" && s.Sel.Name != "CommandContext" {
				return true
			}
			if from, ok := s.X.(*ast.Ident); ok && from.Name == "exec" {
				found[file] = true
				if ownCommands[file] == "" {
					t.Errorf("%v: use sandbox.Command, or say in ownCommands why not", set.Position(n.Pos()))
				}
			}
			return true
		})
	}
	for file := range ownCommands {
		if !found[file] {
			t.Errorf("ownCommands names %s, which starts no program", file)
		}
	}
}

// TestBinariesThatReadVariablesAreSandboxed: the tests of a package that reads variables, or connects to Postgres, whose driver does, import
// the sandbox, even by a helper.
func TestBinariesThatReadVariablesAreSandboxed(t *testing.T) {
	t.Parallel()
	readers := []string{"github.com/lib/pq"}
	for file, text := range sources(t, ".go") {
		if !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "tools/") && !aside(path.Dir(file)) && bytes.Contains(text, []byte("os.Getenv")) {
			readers = append(readers, module+path.Dir(file))
		}
	}
	cmd := sandbox.Command(t, "go", "list", "-test", "-tags", "nomsgpack", "-json=ImportPath,Deps", "./internal/...", "./cmd/...", "./client/...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(p.ImportPath, ".test") {
			continue
		}
		var contained []string
		for _, d := range p.Deps {
			name, _, _ := strings.Cut(d, " ") // "p [q.test]" is p, compiled for the tests of q.
			contained = append(contained, name)
		}
		reads := slices.IndexFunc(readers, func(r string) bool { return slices.Contains(contained, r) })
		if reads >= 0 && !slices.Contains(contained, sandboxPackage) {
			t.Errorf("%s contains %s, which reads variables: import %s in a test", p.ImportPath, readers[reads], sandboxPackage)
		}
	}
}
