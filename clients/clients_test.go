package clients_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"petstore.example/clients"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
)

// TestReleasedFilesNeverChange: SHA256SUMS has the digest of each file, and of no other.
func TestReleasedFilesNeverChange(t *testing.T) {
	t.Parallel()
	want, got := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(read(t, "released/SHA256SUMS"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[name] = sum
	}
	err := fs.WalkDir(clients.Released, "released", func(file string, d fs.DirEntry, err error) error {
		if name := strings.TrimPrefix(file, "released/"); !d.IsDir() && name != "SHA256SUMS" {
			got[name] = fmt.Sprintf("%x", sha256.Sum256(read(t, file)))
		}
		return err
	})
	assert.NoError(t, err)
	assert.DeepEqual(t, got, want, "digests of clients/released (make clients)")
}

// TestReleasedFilesStay: what the last release of petstore has is here, with its bytes.
func TestReleasedFilesStay(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("../.git"); err != nil {
		return // A source archive has no history.
	}
	git := func(args ...string) string {
		out, err := sandbox.CommandIn("..", "git", args...).Output()
		assert.NoError(t, err, "git", args)
		return string(out)
	}
	tag, _, _ := strings.Cut(git("tag", "--merged", "HEAD", "--sort=-creatordate", "v*"), "\n")
	if tag == "" {
		t.Log("nothing was released")
		return
	}
	changed := git("diff", "--diff-filter=a", "--name-only", tag, "--", "clients/released", ":!*/SHA256SUMS")
	assert.Equal(t, changed, "", "files of", tag, "that were changed or removed")
}

// TestNames: the packages have the names in names.json.
func TestNames(t *testing.T) {
	t.Parallel()
	var names struct{ NPM, Python, Go string }
	assert.NoError(t, json.Unmarshal(read(t, "names.json"), &names))
	for file, line := range map[string]string{
		"go/go.mod":               `^module ` + names.Go + `\n`,
		"typescript/package.json": `^\{\n  "name": "` + names.NPM + `",`,
		"python/pyproject.toml":   `\n\[project\]\nname = "` + names.Python + `"\n`,
	} {
		text, err := os.ReadFile(file)
		assert.NoError(t, err)
		assert.True(t, regexp.MustCompile(line).Match(text), file, "has no line", line)
	}
}

// TestTheNewestModuleIsTheSource: what customers get is the source here, or a version of its own.
func TestTheNewestModuleIsTheSource(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("go/client.go")
	assert.NoError(t, err)
	version := "v" + string(regexp.MustCompile(`(?m)^const Version = "(.*)"$`).FindSubmatch(text)[1])
	body := read(t, "released/go/petstore.example/client/@v/"+version+".zip")
	got, want := map[string]string{}, map[string]string{}
	for name, text := range unzip(t, body) {
		got[strings.TrimPrefix(name, "petstore.example/client@"+version+"/")] = text
	}
	files, err := filepath.Glob("go/*")
	assert.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			text, err := os.ReadFile(file)
			assert.NoError(t, err)
			want[path.Base(file)] = string(text)
		}
	}
	assert.DeepEqual(t, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)), "files of the module")
	for name := range want {
		assert.True(t, got[name] == want[name], name, "differs from the released", version,
			"(make clients ONLY=go, after a raised version if it was released)")
	}
}

// TestTheNewestWheelIsTheSource: so is what customers of Python get.
func TestTheNewestWheelIsTheSource(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("python/src/petstore/_core.py")
	assert.NoError(t, err)
	version := string(regexp.MustCompile(`(?m)^__version__ = "(.*)"$`).FindSubmatch(text)[1])
	got, want := map[string]string{}, map[string]string{}
	for name, text := range unzip(t, read(t, "released/petstore-"+version+"-py3-none-any.whl")) {
		switch folder, file := path.Split(name); {
		case strings.HasSuffix(folder, ".dist-info/licenses/"):
			got["python/"+file] = text
		case file == "METADATA": // its head is what pyproject.toml makes of it
			_, readme, _ := strings.Cut(text, "\n\n")
			got["python/README.md"] = readme
		case !strings.HasSuffix(folder, ".dist-info/"):
			got["python/src/"+name] = text
		}
	}
	files, err := filepath.Glob("python/src/petstore/*.*")
	assert.NoError(t, err)
	for _, file := range append(files, "python/README.md", "python/LICENSE") {
		text, err := os.ReadFile(file)
		assert.NoError(t, err)
		want[filepath.ToSlash(file)] = string(text)
	}
	assert.DeepEqual(t, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)), "files of the wheel")
	for name := range want {
		assert.True(t, got[name] == want[name], name, "differs from the released", version,
			"(make clients, after a raised version if it was released)")
	}
}

// TestPagesNameTheNewestFiles: who copies an address from a page gets the newest version, with its
// digest.
func TestPagesNameTheNewestFiles(t *testing.T) {
	t.Parallel()
	newest := map[string][2]string{} // by extension: name and digest
	for line := range strings.Lines(string(read(t, "released/SHA256SUMS"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		newest[path.Ext(name)] = [2]string{name, sum}
	}
	pages, err := filepath.Glob("*/README.md")
	assert.NoError(t, err)
	address := regexp.MustCompile(`/docs/clients/([^/\s]+(\.tgz|\.whl))(?:#sha256=([0-9a-f]*))?`)
	for _, page := range append(pages, "../docs/clients.md") {
		text, err := os.ReadFile(page)
		assert.NoError(t, err)
		for _, m := range address.FindAllStringSubmatch(string(text), -1) {
			if want := newest[m[2]]; want != [2]string{} && (m[1] != want[0] || m[3] != "" && m[3] != want[1]) {
				t.Errorf("%s names %s, and the newest is %s#sha256=%s", page, m[0], want[0], want[1])
			}
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	body, err := clients.Released.ReadFile(file)
	assert.NoError(t, err)
	return body
}

// unzip returns the text of each file of an archive.
func unzip(t *testing.T, body []byte) map[string]string {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	assert.NoError(t, err)
	files := map[string]string{}
	for _, f := range archive.File {
		content, err := f.Open()
		assert.NoError(t, err)
		text, err := io.ReadAll(content)
		assert.NoError(t, err)
		files[f.Name] = string(text)
	}
	return files
}
