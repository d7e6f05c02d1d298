package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const bsd = `Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following conditions are met:
1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in the documentation and/or other materials provided with the distribution.
THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.`

// TestLicenses: a licence that is missing, unknown or not allowed fails a release.
func TestLicenses(t *testing.T) {
	const gpl = "This program is free software: you can redistribute it and/or modify it under the terms of the GNU " +
		"General Public License as " +
		"published by the Free Software Foundation, either version 3 of the License, or (at your option) any later " +
		"version. This program is " +
		"distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied " +
		"warranty of MERCHANTABILITY or " +
		"FITNESS FOR A PARTICULAR PURPOSE. See the GNU General Public License for more details. You should have " +
		"received a copy of the GNU " +
		"General Public License along with this program. If not, see <https://www.gnu.org/licenses/>."
	for name, c := range map[string]struct {
		texts map[string]string
		ids   string
		fails string
	}{
		"allowed": {texts: map[string]string{"LICENSE": bsd}, ids: "BSD-2-Clause"},
		"with notice": {texts: map[string]string{"LICENSE": bsd, "NOTICE": "This product has parts of others."},
			ids: "BSD-2-Clause"},
		"none": {fails: "has no licence"},
		"notice only": {texts: map[string]string{"NOTICE": "This product has parts of others."},
			fails: "has no licence"},
		"unknown": {texts: map[string]string{"LICENSE": "You may use it on Sundays only."},
			fails: "is no known licence"},
		"not allowed": {texts: map[string]string{"LICENSE": gpl}, fails: "has the licence GPL"},
	} {
		ids, err := module{"example.org/m", "v1.0.0", c.texts}.licenses()
		if c.fails == "" && (err != nil || strings.Join(ids, " ") != c.ids) {
			t.Errorf("%s: %v, %v", name, ids, err)
		}
		if c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.fails)
		}
	}
}

// TestNotes: the notes of a version are its section.
func TestNotes(t *testing.T) {
	const changelog = "# Changes\n\nFor all.\n\n## v0.2.0\n\n## v0.1.10 (22 November 2026)\n\nTen.\n\n### " +
		"Upgrade\n\nNothing.\n\n## v0.1.1\n\nOne.\n"
	for version, want := range map[string]string{"v0.1.10": "Ten.\n\n### Upgrade\n\nNothing.", "v0.1.1": "One."} {
		if got, err := notesOf(changelog, version); err != nil || got != want {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	for version, want := range map[string]string{"v0.2.0": "says nothing about v0.2.0",
		"v0.1": `has no section "## v0.1"`} {
		if got, err := notesOf(changelog, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
}

// TestSBOM: each module that is linked into a program, here the test, is in its bill with version,
// licence and checksum.
func TestSBOM(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	bom, err := newSBOM(info, strings.Repeat("ab", 32), ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) < 5 || len(*bom.Components) != len(info.Deps)+1 {
		t.Fatalf("%d components of %d modules and the standard library", len(*bom.Components), len(info.Deps))
	}
	for _, c := range *bom.Components {
		if c.Version == "" || len(*c.Licenses) == 0 || c.Name != "std" && len((*c.Hashes)[0].Value) != 64 ||
			!strings.HasPrefix(c.PackageURL, "pkg:golang/"+c.Name+"@") {
			t.Errorf("%+v", c)
		}
	}
}

// TestArchives: an archive has its files in one folder, what may be run may be run by whoever
// unpacks it, and the same files give the same bytes.
func TestArchives(t *testing.T) {
	dir := t.TempDir()
	program, text := filepath.Join(dir, "program"), filepath.Join(dir, "text")
	if err := os.WriteFile(program, []byte("#!"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(text, []byte("a text"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_800_000_000, 0)
	for _, c := range []struct{ system, ending string }{{"linux", ".tar.gz"}, {"windows", ".zip"}} {
		var contents [2][]byte
		for i := range contents {
			name := filepath.Join(t.TempDir(), "petstore_1")
			if err := writeArchive(
				target{c.system, "arm64"},
				name,
				map[string]string{"petstore": program, "docs/a.md": text},
				at,
			); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(name + c.ending)
			if err != nil {
				t.Fatal(err)
			}
			contents[i] = content
		}
		if !bytes.Equal(contents[0], contents[1]) {
			t.Errorf("%s: two archives of the same files differ", c.ending)
		}
		for path, mode := range map[string]fs.FileMode{"petstore_1/docs/a.md": 0o644, "petstore_1/petstore": 0o755} {
			if info := infoOf(
				t,
				contents[0],
				c.ending,
				path,
			); info == nil || info.Mode() != mode ||
				!info.ModTime().Equal(at) {
				t.Errorf("%s: %s is %v, want mode %v", c.ending, path, info, mode)
			}
		}
	}
}

// infoOf returns what an archive says of a file, nil if it has none.
func infoOf(t *testing.T, archive []byte, ending, path string) fs.FileInfo {
	t.Helper()
	if ending == ".zip" {
		r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			if f.Name == path {
				return f.FileInfo()
			}
		}
		return nil
	}
	r, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(r); ; {
		header, err := files.Next()
		if err != nil {
			return nil
		}
		if header.Name == path {
			return header.FileInfo()
		}
	}
}
