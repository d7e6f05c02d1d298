package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"

	"petstore.example/internal/test/assert"
)

// manDir is set by make man: the program itself writes no man pages, so that it need not have the
// code for them.
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
	assert.NoError(t, doc.GenManTree(root, header, dir))
	for _, page := range []string{"petstore.8", "petstore-serve.8", "petstore-config.8"} {
		text, err := os.ReadFile(filepath.Join(dir, page))
		assert.NoError(t, err)
		for _, want := range []string{".TH ", ".SH NAME", ".SH DESCRIPTION"} {
			assert.True(t, strings.Contains(string(text), want), page, "has no", want)
		}
	}
}
