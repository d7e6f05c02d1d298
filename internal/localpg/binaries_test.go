//go:build unix

package localpg

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/assert"
)

func TestFindBinaries(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	assert.NoError(t, err)
	install := func(name, version string, programs ...string) string {
		dir := filepath.Join(root, name)
		assert.NoError(t, os.Mkdir(dir, 0o755))
		for _, program := range programs {
			script := "#!/bin/sh\necho '" + version + "'\n"
			assert.NoError(t, os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755))
		}
		return dir
	}
	v14 := install("14", "postgres (PostgreSQL) 14.22 (Debian 14.22-1)", "postgres", "initdb")
	v18 := install("18", "postgres (PostgreSQL) 18beta1", "postgres", "initdb")
	client := install("client", "psql (PostgreSQL) 16.1", "psql")
	strange := install("strange", "something else", "postgres", "initdb")
	links := filepath.Join(root, "links")
	assert.NoError(t, os.Mkdir(links, 0o755))
	assert.NoError(t, os.Symlink(filepath.Join(v14, "postgres"), filepath.Join(links, "postgres")))

	tests := map[string]struct {
		dirs []string
		want string
		got  string // directory
		err  error
	}{
		"first":               {[]string{v18, v14}, "", v18, nil},
		"version of the data": {[]string{v18, v14}, "14", v14, nil},
		"version not there":   {[]string{v18, v14}, "13", v18, nil},
		"unusable":            {[]string{"/nowhere", client, strange, v14}, "", v14, nil},
		"through a link":      {[]string{links, v18}, "", v14, nil},
		"none":                {[]string{client, "/nowhere"}, "", "", ErrNotInstalled},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := findBinaries(t.Context(), test.dirs, test.want)
			if diff := cmp.Diff(test.got, b.dir); diff != "" || !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v; directory: %s", err, test.err, diff)
			}
		})
	}
}
