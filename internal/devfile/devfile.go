// Package devfile reads and writes dev.json, which `petstore dev` leaves in its data directory so that petstorectl and scripts find
// the running server, its database and the sample key.
package devfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// DefaultDir is the default data directory of `petstore dev`.
	DefaultDir = ".petstore"
	name       = "dev.json"
)

// File is the content of dev.json. It holds an API key, so only its owner may read it.
type File struct {
	BaseURL     string `json:"base_url"`
	AdminURL    string `json:"admin_url"`
	DatabaseURL string `json:"database_url"`
	APIKey      string `json:"api_key"`
}

// Read reads the file in dir. The error is fs.ErrNotExist when there is none.
func Read(dir string) (File, error) {
	var f File
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		return f, fmt.Errorf("read %s: %w", name, err)
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("%s is not valid (delete it: the next start of petstore dev writes it again): %w", path, err)
	}
	return f, nil
}

// Find reads the file in the DefaultDir of dir, or of its nearest parent that has one. The error is fs.ErrNotExist when there is none.
func Find(dir string) (File, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return File{}, err
	}
	for {
		f, err := Read(filepath.Join(dir, DefaultDir))
		parent := filepath.Dir(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return f, err
		}
		dir = parent
	}
}

// Write replaces the file in dir atomically.
func Write(dir string, f File) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, name+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(append(text, '\n'))
	if err := errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return os.Rename(tmp.Name(), filepath.Join(dir, name))
}
