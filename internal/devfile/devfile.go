// Package devfile is the note that `petstore dev` leaves in its folder, so that petstorectl and people's scripts find
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
	// DefaultDir is where `petstore dev` keeps its data when it is told nothing else.
	DefaultDir = ".petstore"
	name       = "dev.json"
)

// File is the note's content. It holds a key, so only its owner may read it.
type File struct {
	BaseURL     string `json:"base_url"`
	AdminURL    string `json:"admin_url"`
	DatabaseURL string `json:"database_url"`
	APIKey      string `json:"api_key"`
}

// Read returns the note in a folder, or an error that is fs.ErrNotExist when there is none.
func Read(dir string) (File, error) {
	var f File
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		return f, fmt.Errorf("read the note of petstore dev: %w", err)
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("%s is not a note of petstore dev (delete it, and the next start writes it anew): %w", path, err)
	}
	return f, nil
}

// Find returns the note in DefaultDir of the folder or of the nearest of its parents, or an error that is
// fs.ErrNotExist when there is none.
func Find(folder string) (File, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return File{}, err
	}
	for {
		f, err := Read(filepath.Join(folder, DefaultDir))
		parent := filepath.Dir(folder)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || parent == folder {
			return f, err
		}
		folder = parent
	}
}

// Write replaces the note in a folder as a whole: a reader sees the old one or the new one.
func Write(dir string, f File) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, name+".*")
	if err != nil {
		return fmt.Errorf("write the note of petstore dev: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(append(text, '\n'))
	if err := errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write the note of petstore dev: %w", err)
	}
	return os.Rename(tmp.Name(), filepath.Join(dir, name))
}
