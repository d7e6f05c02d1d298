// Package contexts stores the databases that a person has logged in to, each under a name: where it is, as whom to connect, and how TLS
// is checked, in contexts.yaml; and beside it the secret of each login, in a file of its own. A secret is bound to the URL for which it was
// stored: if the context has another one, it has no secret.
//
// Only this user may read the files. A file or folder that another user could have written is an ownfiles.UntrustedError: its database
// would get this user's secret, and would answer in the place of the real one. Each file is replaced atomically; of two changes at the
// same moment the last one counts. A Store is safe for concurrent use.
package contexts

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"petstore.example/internal/ownfiles"
)

// Environment is the kind of deployment that a database serves.
type Environment string

// The environments. In production, commands that can't be taken back name it when they ask.
const (
	Production  Environment = "production"
	Staging     Environment = "staging"
	Development Environment = "development"
)

// Context is a database and a login.
type Context struct {
	Name string `yaml:"-"`
	// URL has no password.
	URL         string      `yaml:"url"`
	Environment Environment `yaml:"environment"`
	// ExpiresAt is when the secret expires; zero for never, or if nobody knows.
	ExpiresAt time.Time `yaml:"expires_at,omitempty"`
}

// File is the content of contexts.yaml.
type File struct {
	Current  string             `yaml:"current,omitempty"`
	Contexts map[string]Context `yaml:"contexts"`
}

// Get returns a context, or ErrNotFound.
func (f File) Get(name string) (Context, error) {
	c, ok := f.Contexts[name]
	if !ok {
		return Context{}, ErrNotFound
	}
	c.Name = name
	return c, nil
}

// List returns the contexts by name.
func (f File) List() (list []Context) {
	for _, name := range slices.Sorted(maps.Keys(f.Contexts)) {
		c := f.Contexts[name]
		c.Name = name
		list = append(list, c)
	}
	return list
}

var (
	// ErrNotFound: there is no context of this name.
	ErrNotFound = errors.New("no such context")
	// ErrName: a context can't have this name.
	ErrName = errors.New("invalid name of a context")
)

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// CheckName returns ErrName unless a context can have the name, which is also that of a file.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return ErrName
	}
	return nil
}

// Store keeps the contexts in a folder, which need not exist.
type Store struct{ Dir string }

const (
	fileName     = "contexts.yaml"
	secretPrefix = "secret-"
	// head tells a person what the file is.
	head = "# Written by petstorectl login. The secrets are in files beside this one.\n"
)

// Path is the path of contexts.yaml.
func (s Store) Path() string { return filepath.Join(s.Dir, fileName) }

// Read returns the contexts: none if nothing was stored yet.
func (s Store) Read() (File, error) {
	f := File{Contexts: map[string]Context{}}
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	defer root.Close()
	text, err := ownfiles.ReadFile(root, fileName)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if err := yaml.Unmarshal(text, &f); err != nil {
		return File{}, fmt.Errorf("%s is not valid: %s", s.Path(), yaml.FormatError(err, false, false))
	}
	return f, nil
}

func (s Store) open() (*os.Root, error) {
	dir, err := ownfiles.Resolve(s.Dir)
	if err != nil {
		return nil, err
	}
	return ownfiles.OpenDir(dir)
}

// Secret returns the secret of a context, "" if none is stored for its URL.
func (s Store) Secret(c Context) (string, error) {
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer root.Close()
	text, err := ownfiles.ReadSecret(root, secretPrefix+c.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	// A URL has no line break.
	url, secret, _ := strings.Cut(string(text), "\n")
	if err != nil || url != c.URL {
		return "", err
	}
	return secret, nil
}

// Put stores a context and its secret, and makes it the current one. An empty secret removes the one that is stored.
func (s Store) Put(c Context, secret string) error {
	return s.change(func(root *os.Root, f *File) error {
		f.Contexts[c.Name], f.Current = c, c.Name
		if secret == "" {
			return removeSecret(root, c.Name)
		}
		// If contexts.yaml can't be written then, it has the old URL, to which the new secret does not belong.
		return ownfiles.WriteFile(root, secretPrefix+c.Name, []byte(c.URL+"\n"+secret))
	})
}

// Use makes a context the current one. It returns ErrNotFound if there is none of the name.
func (s Store) Use(name string) error {
	return s.change(func(_ *os.Root, f *File) error {
		f.Current = name
		_, err := f.Get(name)
		return err
	})
}

// Remove removes a context and its secret. It returns ErrNotFound if there is none of the name.
func (s Store) Remove(name string) error {
	return s.change(func(root *os.Root, f *File) error {
		if _, err := f.Get(name); err != nil {
			return err
		}
		delete(f.Contexts, name)
		if f.Current == name {
			f.Current = ""
		}
		return removeSecret(root, name)
	})
}

// RemoveSecret removes the secret of a context, which stays. It returns ErrNotFound if there is no context of the name.
func (s Store) RemoveSecret(name string) error {
	return s.change(func(root *os.Root, f *File) error {
		c, err := f.Get(name)
		if err != nil {
			return err
		}
		c.ExpiresAt = time.Time{}
		f.Contexts[name] = c
		return removeSecret(root, name)
	})
}

// change reads the file, calls edit, and writes the file unless edit fails.
func (s Store) change(edit func(*os.Root, *File) error) error {
	f, err := s.Read()
	if err != nil {
		return err
	}
	if f.Contexts == nil {
		f.Contexts = map[string]Context{}
	}
	root, err := ownfiles.MakeDir(s.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := edit(root, &f); err != nil {
		return err
	}
	text, err := yaml.Marshal(f)
	if err != nil {
		return err
	}
	return ownfiles.WriteFile(root, fileName, append([]byte(head), text...))
}

func removeSecret(root *os.Root, name string) error {
	if err := root.Remove(secretPrefix + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
