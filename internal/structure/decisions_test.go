package structure_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestDecisionsAreNumbered: one after the other, and each has its number in its heading too. Two of one number can't be told apart where
// others refer to them.
func TestDecisionsAreNumbered(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/adr/[0-9]*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no decisions: %v", err)
	}
	for i, file := range files { // sorted by name
		number := strconv.Itoa(i + 1)
		name := filepath.Base(file)
		if want := strings.Repeat("0", 4-len(number)) + number + "-"; !strings.HasPrefix(name, want) {
			t.Fatalf("docs/adr/%s: the next number is %s", name, number)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "# "+number+". ") {
			t.Errorf("docs/adr/%s: its heading has another number", name)
		}
	}
}
