package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"
)

// manDir is set by make man: the program itself writes no man pages, so that it need not have the code for them.
var manDir = flag.String("man", "", "write the man pages to `DIR`")

// TestManPages: each command has a man page.
func TestManPages(t *testing.T) {
	t.Parallel()
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	root := newRootCommand()
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "8", Source: "petstore", Manual: "petstore manual"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"petstore.8", "petstore-serve.8", "petstore-config.8"} {
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{".TH ", ".SH NAME", ".SH DESCRIPTION"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %s", page, want)
			}
		}
	}
}
