package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"petstore.example/internal/ctl"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox" // the environment of the tests
)

// TestUpToDate: the reference and the golden help texts are what the commands say, and there is no
// other one.
func TestUpToDate(t *testing.T) {
	t.Chdir("../../..")
	files, err := generate(ctl.Root(cmdutil.NewFactory(&cmdutil.IOStreams{})))
	assert.NoError(t, err)
	const update = "read the difference; if it is meant, run: make reference"
	for path, want := range files {
		got, err := os.ReadFile(path)
		assert.Result(t, want, err, string(got), path, update, "-file +commands")
	}
	err = filepath.WalkDir(helpDir, func(path string, d fs.DirEntry, err error) error {
		if _, ok := files[path]; err == nil && !d.IsDir() && !ok {
			t.Errorf("%s: no such command; %s", path, update)
		}
		return err
	})
	assert.Equal(t, err, nil)
}

// TestManPages: every page is one that man can render.
func TestManPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assert.NoError(t, writeMan(ctl.Root(cmdutil.NewFactory(&cmdutil.IOStreams{})), dir))
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		assert.NoError(t, err)
		for _, want := range []string{".TH ", ".SH NAME", ".SH DESCRIPTION"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %s", filepath.Base(page), want)
			}
		}
	}
}
