package structure_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestDecisionsHaveNumbersOfTheirOwn: two of one number can't be told apart where others refer to them, and the heading has the number of the
// file. A decision that holds no longer is deleted, and its number is not given again.
func TestDecisionsHaveNumbersOfTheirOwn(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/adr/[0-9]*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no decisions: %v", err)
	}
	seen := map[int]string{}
	for _, file := range files {
		name := filepath.Base(file)
		number, err := strconv.Atoi(name[:4])
		if err != nil || name[4] != '-' || seen[number] != "" {
			t.Fatalf("docs/adr/%s: want NNNN-title.md with a number of its own; %q", name, seen[number])
		}
		seen[number] = name
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "# "+strconv.Itoa(number)+". ") {
			t.Errorf("docs/adr/%s: its heading has another number", name)
		}
	}
}
