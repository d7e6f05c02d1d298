package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// source is a file of a module.
type source struct{ dir, name string }

// Path, Lstat and Open are modzip.File's.
func (s source) Path() string                 { return s.name }
func (s source) Lstat() (os.FileInfo, error)  { return os.Lstat(path.Join(s.dir, s.name)) }
func (s source) Open() (io.ReadCloser, error) { return os.Open(path.Join(s.dir, s.name)) }

// pack writes the zip file of a module, without its tests, whose vectors are elsewhere.
func pack(w io.Writer, v module.Version, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var files []modzip.File
	for _, e := range entries {
		if !e.IsDir() && !strings.HasSuffix(e.Name(), "_test.go") {
			files = append(files, source{dir, e.Name()})
		}
	}
	return modzip.Create(w, v, files)
}

// contents returns the names and digests of the files in an archive, by its name, in order.
func contents(name string, body []byte) (all []string, err error) {
	switch path.Ext(name) {
	case ".zip", ".whl":
		all, err = inZip(body)
	case ".tgz":
		all, err = inTar(body)
	default:
		err = errors.New("not an archive")
	}
	slices.Sort(all)
	return all, err
}

func inZip(body []byte) (all []string, err error) {
	r, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, err
	}
	for _, f := range r.File {
		content, err := f.Open()
		if err != nil {
			return nil, err
		}
		line, err := digest(f.Name, content)
		if err := errors.Join(err, content.Close()); err != nil {
			return nil, err
		}
		all = append(all, line)
	}
	return all, nil
}

func inTar(body []byte) (all []string, err error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r := tar.NewReader(unzipped)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		line, err := digest(header.Name, r)
		if err != nil {
			return nil, err
		}
		all = append(all, line)
	}
}

func digest(name string, content io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, content)
	return fmt.Sprintf("%s %x", name, h.Sum(nil)), err
}
