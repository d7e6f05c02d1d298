package envvars

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// FileSuffix ends the name of a variable that names a file with the value.
const FileSuffix = "_FILE"

// maxSecret is the maximum number of bytes that are read of a file.
const maxSecret = 64 << 10

// Secret is a value and the variable that set it.
type Secret struct {
	// Value is "" if neither variable is set.
	Value string
	// SetBy is the variable, with _FILE if the value is from a file.
	SetBy string
	// Warning is a sentence about the file, "" if nothing is wrong with it.
	Warning string
}

// ReadSecret returns the value of the variable, or the content of the file that the variable with
// _FILE names, as Read does. An empty variable counts as unset. It is an error if both are set, if
// one can't be read or has only blanks, or if the file has more than one line.
func ReadSecret(getenv func(string) string, name string) (Secret, error) {
	given, setBy := getenv(name), name+FileSuffix
	value, err := Read(given)
	if err == nil && value == "" && given != "" {
		err = errors.New("has only blanks")
	}
	if err != nil {
		return Secret{}, fmt.Errorf("%s %w", name, err)
	}
	path := getenv(setBy)
	switch {
	case path == "":
		return Secret{Value: value, SetBy: name}, nil
	case value != "":
		return Secret{}, fmt.Errorf("%s and %s are both set: set one of them", name, setBy)
	case MayBeSecret(path):
		return Secret{}, fmt.Errorf("%s has the value itself: want the name of a file that contains it", setBy)
	}
	text, mode, err := read(path)
	if err != nil {
		return Secret{}, fmt.Errorf("%s: %w", setBy, err)
	}
	s := Secret{Value: text, SetBy: setBy}
	// On Windows the permissions that Go shows mean nothing.
	if mode.IsRegular() && mode.Perm()&0o004 != 0 && runtime.GOOS != "windows" {
		s.Warning = fmt.Sprintf(
			"%s: every user of this machine can read %s: take the right from others (chmod o-r)",
			setBy,
			path,
		)
	}
	return s, nil
}

// MayBeSecret reports whether a text given as the name of a file is a URL, headers or the like,
// which may hold a password.
func MayBeSecret(path string) bool {
	return strings.Contains(path, "://") || strings.Contains(path, "password=") ||
		strings.ContainsAny(path, "=@") && !filepath.IsAbs(path)
}

func read(path string) (text string, mode fs.FileMode, err error) {
	f, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", 0, err
	}
	if len(content) > maxSecret {
		return "", 0, errors.New(path + " is too large for a URL")
	}
	text, err = Read(string(content))
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("%s %w", path, err)
	case text == "":
		return "", 0, errors.New(path + " is empty")
	case strings.ContainsAny(text, "\r\n"):
		return "", 0, errors.New(path + " has more than one line")
	}
	return text, info.Mode(), nil
}
