package structure_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	decisionLink = regexp.MustCompile(`(adr/|\()(\d{4}-[a-z-]+\.md)`)
	decisionName = regexp.MustCompile(`\bADR (\d+)\b`)
)

// TestDecisionsHaveNumbersOfTheirOwn: two of one number can't be told apart where others refer to
// them, and the heading has the number of the file. A decision that holds no longer is deleted, and
// its number is not given again. Each has a status, and everything that refers to one refers to one
// that exists.
func TestDecisionsHaveNumbersOfTheirOwn(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/adr/[0-9]*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d decisions: %v", len(files), err)
	}
	seen, names := map[int]string{}, map[string]bool{}
	for _, file := range files {
		name := filepath.Base(file)
		number, err := strconv.Atoi(name[:4])
		if err != nil || name[4] != '-' || seen[number] != "" {
			t.Fatalf("docs/adr/%s: want NNNN-title.md with a number of its own; %q", name, seen[number])
		}
		seen[number], names[name] = name, true
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "# "+strconv.Itoa(number)+". ") {
			t.Errorf("docs/adr/%s: its heading has another number", name)
		}
		if !strings.Contains(string(text), "\n\n*Status: ") {
			t.Errorf("docs/adr/%s: no line with its status", name)
		}
	}
	for path, text := range sources(t, ".md", ".go", ".tmpl") {
		for _, m := range decisionLink.FindAllSubmatch(text, -1) {
			if name := string(
				m[2],
			); (string(m[1]) == "adr/" || strings.Contains(filepath.ToSlash(path), "docs/adr/")) &&
				!names[name] {
				t.Errorf("%s refers to docs/adr/%s, which does not exist", path, name)
			}
		}
		for _, m := range decisionName.FindAllSubmatch(text, -1) {
			if number, _ := strconv.Atoi(string(m[1])); seen[number] == "" {
				t.Errorf("%s refers to %s, which does not exist", path, m[0])
			}
		}
	}
}
