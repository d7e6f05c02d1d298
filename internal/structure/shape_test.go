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

const (
	// maxFile is the most lines of a file, tests aside.
	maxFile = 400
	// maxProduct is the most lines of Go in the product: internal, cmd and clients/go, without tests and
	// internal/test. It stands a tenth above what was there, for people to look at. A feature may
	// raise it in a commit of its own, with a sentence that says what could not go instead.
	maxProduct = 74200
)

// measured is a file and its lines.
type measured struct {
	what  string
	lines int
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	var files, testFiles []measured
	product := 0
	for path, text := range sources(t, ".go") {
		path = filepath.ToSlash(path)
		lines := bytes.Count(text, []byte("\n"))
		if strings.HasSuffix(path, "_test.go") {
			testFiles = append(testFiles, measured{path, lines})
			continue
		}
		files = append(files, measured{path, lines})
		if lines > maxFile {
			t.Errorf("%s has %d lines, more than %d", path, lines, maxFile)
		}
		room, _, _ := strings.Cut(path, "/")
		if slices.Contains([]string{"internal", "cmd", "clients"}, room) && !strings.HasPrefix(path, "internal/test/") {
			product += lines
		}
	}
	t.Logf("the product: %d lines of at most %d", product, maxProduct)
	t.Logf("files:       %s", summary(files))
	t.Logf("test files:  %s", summary(testFiles))
	if product > maxProduct {
		t.Errorf("the product has %d lines of Go, more than %d: what could go?", product, maxProduct)
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
