package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// filesOf returns the path on this machine of each file of an archive, by its path in the archive.
// "petstore" is for servers and has both programs, so that both always belong to the same release.
// "petstorectl" is for staff's machines.
func (t target) filesOf(program string) (map[string]string, error) {
	files := map[string]string{
		"LICENSE":                  "LICENSE",
		"THIRD_PARTY_LICENSES.txt": releaseFiles + "THIRD_PARTY_LICENSES.txt",
	}
	patterns := map[string]string{"man/man1": "man/man1/*", "completions": "completions/*petstorectl.*"}
	programs := []string{program}
	if program == "petstore" {
		files["CHANGELOG.md"] = "CHANGELOG.md"
		patterns["man/man8"], patterns["completions"] = "man/man8/*", "completions/*"
		programs = t.programs()
		if err := errors.Join(addFolder(files, "docs", ".md"), addFolder(files, "deploy", "")); err != nil {
			return nil, err
		}
	}
	for _, p := range programs {
		files[filepath.Base(t.path(p))] = t.path(p)
	}
	for dir, pattern := range patterns {
		found, err := filepath.Glob(releaseFiles + pattern)
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			files[path.Join(dir, filepath.Base(file))] = file
		}
	}
	return files, nil
}

// addFolder adds the files of a folder whose names have the ending.
func addFolder(files map[string]string, root, ending string) error {
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(file, ending) {
			files[filepath.ToSlash(file)] = file
		}
		return err
	})
}

// writeArchive writes files to NAME.tar.gz, or NAME.zip for Windows, in one folder and in the order
// of their paths. They belong to root.
func writeArchive(t target, name string, files map[string]string, at time.Time) (err error) {
	ending, newWriter := ".tar.gz", newTar
	if t.system == "windows" {
		ending, newWriter = ".zip", newZip
	}
	out, err := os.Create(name + ending)
	if err != nil {
		return err
	}
	create, closeAll := newWriter(out, at)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		content, err := os.ReadFile(files[file])
		if err != nil {
			return errors.Join(err, out.Close())
		}
		if err := create(path.Join(filepath.Base(name), file), content, modeOf(files[file])); err != nil {
			return errors.Join(err, out.Close())
		}
	}
	return errors.Join(closeAll(), out.Close())
}

// modeOf returns the mode of a file in archives. Files that are executable here are executable for
// everybody there.
func modeOf(file string) fs.FileMode {
	if info, err := os.Stat(file); err == nil && info.Mode()&0o100 != 0 {
		return 0o755
	}
	return 0o644
}

// create adds a file to an archive.
type create func(name string, content []byte, mode fs.FileMode) error

func newTar(out io.Writer, at time.Time) (create, func() error) {
	compressed := gzip.NewWriter(out)
	w := tar.NewWriter(compressed)
	return func(name string, content []byte, mode fs.FileMode) error {
		err := w.WriteHeader(
			&tar.Header{
				Name:    name,
				Mode:    int64(mode),
				Size:    int64(len(content)),
				ModTime: at,
				Uname:   "root",
				Gname:   "root",
			},
		)
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	}, func() error { return errors.Join(w.Close(), compressed.Close()) }
}

func newZip(out io.Writer, at time.Time) (create, func() error) {
	w := zip.NewWriter(out)
	return func(name string, content []byte, mode fs.FileMode) error {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(mode)
		file, err := w.CreateHeader(header)
		if err == nil {
			_, err = file.Write(content)
		}
		return err
	}, w.Close
}
