// Command clients puts the packages for customers into clients/released. make clients runs it in the
// root of the repository:
//
//	clients FILE …   add these files, and the module in clients/go for the command go
//
// A file that is there with the same content stays as it is, whatever else in it differs, such as
// the times in an archive. One with another content is replaced, unless the last release of petstore
// has it: then its package needs a higher version. SHA256SUMS gets a line for each new file at its
// end.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
)

const released = "clients/released"

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(files []string) error {
	all, err := goModule("clients/go")
	if err != nil {
		return err
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		all = append(all, file{filepath.Base(name), body})
	}
	before, err := inLastRelease()
	if err != nil {
		return err
	}
	for _, f := range all {
		if err := f.add(before); err != nil {
			return err
		}
	}
	return writeSums()
}

// file is a file below released.
type file struct {
	name string
	body []byte
}

var version = regexp.MustCompile(`(?m)^const Version = "(.*)"$`)

// goModule returns the files of a module proxy for the module in a folder, at its own version.
func goModule(dir string) ([]file, error) {
	source, err := os.ReadFile(filepath.Join(dir, "client.go"))
	if err != nil {
		return nil, err
	}
	found := version.FindSubmatch(source)
	if found == nil {
		return nil, errors.New("clients/go/client.go has no version")
	}
	names, err := os.ReadFile("clients/names.json")
	var name struct{ Go string }
	if err == nil {
		err = json.Unmarshal(names, &name)
	}
	if err != nil {
		return nil, err
	}
	v := module.Version{Path: name.Go, Version: "v" + string(found[1])}
	var zipped bytes.Buffer
	if err := pack(&zipped, v, dir); err != nil {
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	info, err := json.Marshal(map[string]string{
		"Version": v.Version, "Time": time.Now().UTC().Format(time.DateOnly) + "T00:00:00Z",
	})
	escaped, failed := module.EscapePath(v.Path)
	at := "go/" + escaped + "/@v/" + v.Version
	return []file{
		{at + ".zip", zipped.Bytes()}, {at + ".mod", mod}, {at + ".info", info},
	}, errors.Join(err, failed)
}

// add writes the file, unless it is there with the same content.
func (f file) add(before map[string]bool) error {
	path := filepath.Join(released, f.name)
	old, err := os.ReadFile(path)
	switch {
	case err == nil && same(f.name, old, f.body):
		return nil
	case err == nil && before[filepath.ToSlash(path)]:
		return fmt.Errorf("%s was released with another content: raise the version of its package", path)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	fmt.Println(path)
	return os.WriteFile(path, f.body, 0o644)
}

// same reports whether two files have the same content: archives by their files, and the .info of
// a version, which has the day on which it was made, always.
func same(name string, a, b []byte) bool {
	if strings.HasSuffix(name, ".info") {
		return true
	}
	first, noArchive := contents(name, a)
	second, _ := contents(name, b)
	if noArchive != nil {
		return bytes.Equal(a, b)
	}
	return slices.Equal(first, second)
}

// inLastRelease returns the files that the last tag has.
func inLastRelease() (map[string]bool, error) {
	tag, err := exec.Command("git", "tag", "--merged", "HEAD", "--sort=-creatordate", "v*").Output()
	newest, _, _ := strings.Cut(string(tag), "\n")
	if err != nil || newest == "" {
		return nil, err
	}
	out, err := exec.Command("git", "ls-tree", "-r", "--name-only", newest, "--", released).Output() // #nosec G204
	names := map[string]bool{}
	for name := range strings.Lines(string(out)) {
		names[strings.TrimSpace(name)] = true
	}
	return names, err
}

// writeSums renews the digests, and adds lines for files that have none.
func writeSums() error {
	path := filepath.Join(released, "SHA256SUMS")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var names []string
	for line := range strings.Lines(string(old)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		names = append(names, name)
	}
	err = filepath.WalkDir(released, func(file string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(released, file)
		if err == nil && !d.IsDir() && name != "SHA256SUMS" && !slices.Contains(names, filepath.ToSlash(name)) {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, name := range names {
		body, err := os.ReadFile(filepath.Join(released, name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		fmt.Fprintf(&sums, "%s  %s\n", hex.EncodeToString(sum[:]), name)
	}
	return os.WriteFile(path, []byte(sums.String()), 0o644)
}
