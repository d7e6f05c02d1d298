package structure_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The most lines of a file and of a function, tests aside.
const (
	maxFile     = 400
	maxFunction = 60
)

// measured is a file or a function and its lines.
type measured struct {
	what  string
	lines int
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	t.Parallel()
	var files, functions, testFiles []measured
	for path, text := range sources(t, ".go") {
		lines := bytes.Count(text, []byte("\n"))
		if strings.HasSuffix(path, "_test.go") {
			testFiles = append(testFiles, measured{path, lines})
			continue
		}
		files = append(files, measured{path, lines})
		functions = append(functions, functionsIn(t, path, text)...)
	}
	t.Logf("files:      %s", summary(files))
	t.Logf("functions:  %s", summary(functions))
	t.Logf(
		"test files: %s; lines of tests to lines of code %.2f",
		summary(testFiles),
		float64(sum(testFiles))/float64(sum(files)),
	)
	refuseLonger(t, files, maxFile)
	refuseLonger(t, functions, maxFunction)
}

// budgets are the most lines of each room, tests aside. A commit that deletes lowers its row; one
// that raises a row says why. A folder counts with what is below it.
var budgets = map[string]int{
	"bench":                          5860,
	"client":                         1800,
	"cmd":                            3600,
	"deploy":                         50,
	"docs":                           50,
	"internal/account":               1100,
	"internal/advice":                50,
	"internal/api":                   7150,
	"internal/audit":                 400,
	"internal/buildinfo":             50,
	"internal/catalog":               450,
	"internal/cluster":               800,
	"internal/connlimit":             550,
	"internal/ctl":                   13400,
	"internal/devfile":               100,
	"internal/diagnose":              350,
	"internal/e2e":                   50,
	"internal/envvars":               200,
	"internal/fairqueue":             550,
	"internal/freshness":             450,
	"internal/httpfast":              900,
	"internal/keys":                  2150,
	"internal/limits":                3950,
	"internal/localpg":               700,
	"internal/loglimit":              150,
	"internal/ownfiles":              250,
	"internal/plans":                 850,
	"internal/spelling":              50,
	"internal/staff":                 250,
	"internal/storeclock":            150,
	"internal/store":                 12750,
	"internal/structure":             50,
	"internal/subprocess":            150,
	"internal/test":                  4850,
	"internal/tracing":               450,
	"internal/usage":                 2050,
	"internal without internal/test": 49950,

	"migrations":                3050,
	"tests of internal and cmd": 58440,
	"tools":                     3150,
}

func TestRoomsKeepTheirBudgets(t *testing.T) {
	t.Parallel()
	rooms, tests := map[string]int{}, 0
	for path, text := range sources(t, ".go", ".lua", ".sql") {
		lines := bytes.Count(text, []byte("\n"))
		parts := strings.Split(filepath.ToSlash(path), "/")
		room := parts[0]
		if room == "internal" {
			room += "/" + parts[1]
		}
		switch {
		case !strings.HasSuffix(path, "_test.go"):
			rooms[room] += lines
			if parts[0] == "internal" && room != "internal/test" {
				rooms["internal without internal/test"] += lines
			}
		case parts[0] == "internal" || parts[0] == "cmd":
			tests += lines
		}
	}
	rooms["tests of internal and cmd"] = tests
	for room, lines := range rooms {
		switch most, ok := budgets[room]; {
		case !ok:
			t.Errorf("%s has %d lines and no budget", room, lines)
		case lines > most:
			t.Errorf("%s has %d lines, more than %d", room, lines, most)
		case most-lines >= 100 && most > 500:
			t.Errorf("%s has %d lines: lower its budget of %d to %d", room, lines, most, (lines+49)/50*50)
		}
	}
	for room := range budgets {
		if _, ok := rooms[room]; !ok {
			t.Errorf("%s has a budget and no lines", room)
		}
	}
}

func functionsIn(t *testing.T, path string, text []byte) (found []measured) {
	t.Helper()
	set, file := parse(t, path, text)
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			from, to := set.Position(f.Pos()), set.Position(f.End())
			found = append(
				found,
				measured{fmt.Sprintf("%s:%d %s", path, from.Line, f.Name.Name), to.Line - from.Line + 1},
			)
		}
	}
	return found
}

func refuseLonger(t *testing.T, all []measured, most int) {
	t.Helper()
	for _, m := range all {
		if m.lines > most {
			t.Errorf("%s has %d lines, more than %d", m.what, m.lines, most)
		}
	}
}

// summary sorts all by length.
func summary(all []measured) string {
	slices.SortFunc(all, func(a, b measured) int { return a.lines - b.lines })
	at := func(percent int) int { return all[min(len(all)-1, len(all)*percent/100)].lines }
	longest := all[len(all)-1]
	return fmt.Sprintf(
		"%d, median %d lines, p90 %d, longest %d (%s)",
		len(all),
		at(50),
		at(90),
		longest.lines,
		longest.what,
	)
}

func sum(all []measured) (n int) {
	for _, m := range all {
		n += m.lines
	}
	return n
}

// TestNothingIsSkipped: a missing server fails the suite.
func TestNothingIsSkipped(t *testing.T) {
	t.Parallel()
	for path, text := range sources(t, "_test.go") {
		set, file := parse(t, path, text)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok &&
				slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) {
				t.Errorf("%v skips a test", set.Position(call.Pos()))
			}
			return true
		})
	}
}

// unfinished are words of work that is not done. They are put together here, so that this file does
// not hold them.
var unfinished = []string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK", "WI" + "P:", "place" + "holder"}

func TestNothingIsLeftUndone(t *testing.T) {
	t.Parallel()
	for path, text := range sources(t, ".go", ".sql", ".lua", ".md", ".sh", ".yml", ".yaml", "Makefile") {
		for _, word := range unfinished {
			if i := bytes.Index(text, []byte(word)); i >= 0 {
				t.Errorf("%s:%d holds %q", path, 1+bytes.Count(text[:i], []byte("\n")), word)
			}
		}
	}
}

// TestNamesSayWhat: a package of odds and ends has no subject.
func TestNamesSayWhat(t *testing.T) {
	t.Parallel()
	for path := range sources(t, ".go") {
		for _, part := range strings.Split(filepath.ToSlash(filepath.Dir(path)), "/") {
			if slices.Contains(
				[]string{"util", "utils", "common", "helpers", "helper", "models", "misc", "shared"},
				part,
			) {
				t.Errorf("%s: %s says nothing of what is in it", path, part)
			}
		}
	}
}

func parse(t *testing.T, path string, text []byte) (*token.FileSet, *ast.File) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return set, file
}

// sources returns the repository's files whose names end so, by their paths in it.
func sources(t *testing.T, endings ...string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root &&
			(strings.HasPrefix(name, ".") || name == "bin" || name == "generated" || name == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(name, e) }) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, path)
		found[inside] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("no files that end in %v", endings)
	}
	return found
}
