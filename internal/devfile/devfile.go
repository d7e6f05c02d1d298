// Package devfile reads and writes dev.json, which `petstore dev` leaves in its data directory so
// that petstorectl and scripts find the running server, its database and the sample key.
//
// A file that another user could have written is an error: it could send this user's password to
// another database, which would answer in place of the real one. All functions are safe for
// concurrent use.
package devfile

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"petstore.example/internal/ownfiles"
)

const (
	// DefaultDir is the default data directory of `petstore dev`.
	DefaultDir = ".petstore"
	// Name is the file's name in the data directory.
	Name = "dev.json"
	// URLName is the name of a file that has only the database's URL, for
	// PETSTORE_DATABASE_URL_FILE.
	URLName = "database-url"
)

// File is the content of dev.json. It holds API keys, so only its owner may read it.
type File struct {
	BaseURL     string `json:"base_url"`
	AdminURL    string `json:"admin_url"`
	DatabaseURL string `json:"database_url"`
	APIKey      string `json:"api_key"`
	TestAPIKey  string `json:"test_api_key"`
}

// Read reads the file in dir. The error is fs.ErrNotExist if there is no file, and an
// ownfiles.UntrustedError if another user could have written it.
func Read(dir string) (File, error) {
	root, err := ownfiles.OpenDir(dir)
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", Name, err)
	}
	defer root.Close()
	text, err := ownfiles.ReadFile(root, Name)
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", Name, err)
	}
	var f File
	if err := json.Unmarshal(text, &f); err != nil {
		return File{}, fmt.Errorf(
			"%s is not valid (delete it: the next start of petstore dev writes it again): %w",
			filepath.Join(dir, Name),
			err,
		)
	}
	return f, nil
}

// Write replaces the file in dir atomically, and then the file URLName. The error is an
// ownfiles.UntrustedError if another user could replace either.
func Write(dir string, f File) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	root, err := ownfiles.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("write %s: %w", Name, err)
	}
	defer root.Close()
	if err := ownfiles.WriteFile(root, Name, append(text, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", Name, err)
	}
	if err := ownfiles.WriteFile(root, URLName, []byte(f.DatabaseURL+"\n")); err != nil {
		return fmt.Errorf("write %s: %w", URLName, err)
	}
	return nil
}
