package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences, by SPDX name, of modules that may be linked into a program distributed
// under Apache-2.0.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// module is a module that is linked into a program, or Go's standard library.
type module struct {
	name, version string
	texts         map[string]string // by path below the module
}

// writeLicenses writes the licences of all modules of the programs on all systems: a binary may be
// distributed only with these texts.
func writeLicenses(file string) error {
	modules, err := linkedModules()
	if err != nil {
		return err
	}
	var page bytes.Buffer
	page.WriteString("petstore and petstorectl are distributed under the Apache License 2.0, see LICENSE.\n" +
		"They contain the following software, under the licences that follow.\n")
	for _, m := range modules {
		ids, err := m.licenses()
		if err != nil {
			return err
		}
		fmt.Fprintf(&page, "\n%s\n%s %s: %s\n", strings.Repeat("=", 80), m.name, m.version, strings.Join(ids, ", "))
		for _, path := range slices.Sorted(maps.Keys(m.texts)) {
			fmt.Fprintf(&page, "\n--- %s\n\n%s\n", path, strings.TrimSpace(m.texts[path]))
		}
	}
	return os.WriteFile(file, page.Bytes(), 0o644)
}

// licenses returns the SPDX names of a module's licences. It fails if it finds no licence, or one
// that is unknown or not allowed.
func (m module) licenses() ([]string, error) {
	found := map[string]bool{}
	for path, text := range m.texts {
		if strings.HasPrefix(strings.ToUpper(filepath.Base(path)), "NOTICE") {
			continue // A NOTICE names authors and works, but grants nothing.
		}
		coverage := licensecheck.Scan([]byte(text))
		if coverage.Percent < 75 {
			return nil, fmt.Errorf("%s %s: %s is no known licence", m.name, m.version, path)
		}
		for _, match := range coverage.Match {
			if !match.IsURL {
				found[match.ID] = true
			}
		}
	}
	ids := slices.Sorted(maps.Keys(found))
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s %s has no licence", m.name, m.version)
	}
	for _, id := range ids {
		if !slices.Contains(allowed, id) {
			return nil, fmt.Errorf(
				"%s %s has the licence %s, which is not one of %s",
				m.name,
				m.version,
				id,
				strings.Join(allowed, ", "),
			)
		}
	}
	return ids, nil
}

// linked is go list's description of a package.
type linked struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// linkedModules returns the modules of the programs, and what they embed, in order.
func linkedModules() ([]module, error) {
	all := map[string]module{}
	for _, build := range [][]string{
		{"linux", "./cmd/petstore", "./cmd/petstorectl"},
		{"darwin", "./cmd/petstore", "./cmd/petstorectl"},
		{"windows", "./cmd/petstorectl"},
	} {
		if err := addLinked(all, build[0], build[1:]...); err != nil {
			return nil, err
		}
	}
	standard, err := standardLibrary()
	if err != nil {
		return nil, err
	}
	embedded, err := embeddedModules(".")
	if err != nil {
		return nil, err
	}
	for _, m := range append(embedded, standard) {
		all[m.name] = m
	}
	var list []module
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list, nil
}

func addLinked(all map[string]module, system string, programs ...string) error {
	args := append([]string{"list", "-deps", "-tags", "nomsgpack", "-json=Dir,Standard,Module"}, programs...)
	out, err := goTool([]string{"GOOS=" + system, "CGO_ENABLED=0"}, args...)
	if err != nil {
		return err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p linked
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		m, ok := all[p.Module.Path]
		if !ok {
			m = module{p.Module.Path, p.Module.Version, map[string]string{}}
			all[m.name] = m
		}
		// A package may have a licence other than its module's, if its source is from elsewhere.
		for dir := p.Dir; strings.HasPrefix(dir, p.Module.Dir); dir = filepath.Dir(dir) {
			if err := addTexts(m.texts, p.Module.Dir, dir); err != nil {
				return err
			}
		}
	}
}

var licenseName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([-_][^.]*)?(\.(md|txt|rst))?$`)

func addTexts(texts map[string]string, root, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !licenseName.MatchString(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		texts[filepath.ToSlash(name)] = string(text)
	}
	return nil
}

// standardLibrary is Go's, of the version that builds the programs.
func standardLibrary() (module, error) {
	out, err := goTool(nil, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return module{}, err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	m := module{"std", version, map[string]string{}}
	return m, addTexts(m.texts, root, root)
}

// embeddedOrigin matches the first line of NAME.LICENSE. That file is beside an embedded file.
var embeddedOrigin = regexp.MustCompile(`^.* of the npm package (\S+) ([0-9.]+)[ ,]`)

// embeddedModules returns the npm packages that a program embeds. The licence of each is in a file
// beside it.
func embeddedModules(root string) ([]module, error) {
	files, err := filepath.Glob(filepath.Join(root, "internal", "api", "reference", "assets", "*.LICENSE"))
	if err != nil {
		return nil, err
	}
	var list []module
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		origin := embeddedOrigin.FindSubmatch(text)
		if origin == nil {
			return nil, fmt.Errorf("%s: its first line does not name the npm package and its version", file)
		}
		_, license, _ := strings.Cut(string(text), "\n")
		list = append(
			list,
			module{string(origin[1]), string(origin[2]), map[string]string{filepath.Base(file): license}},
		)
	}
	return list, nil
}

// goTool runs the go command with the variables of env added to the environment, and returns its
// output.
func goTool(env []string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}
