// Package ownfiles opens directories and files that only this user or root could have written.
//
// A directory or file is trusted if it belongs to this user or to root, is not a symbolic link, and
// neither its group nor others may write to it. The opened file is the one that was checked: a
// directory is held open, and its files are opened below it, so nothing can be replaced in between.
// Access control lists are ignored. On Windows only the owner is checked, who must be this user,
// the administrators or the system, because the permissions that Go shows there mean nothing. All
// functions are safe for concurrent use.
package ownfiles

import (
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// UntrustedError is the error of a directory or file that another user could have written.
type UntrustedError struct {
	// Reason completes "it …".
	Path, Reason string
}

// Error implements error.
func (e *UntrustedError) Error() string { return e.Path + " is not trusted: it " + e.Reason }

// OpenDir opens a trusted directory. The error is an UntrustedError, or the system's:
// fs.ErrNotExist if there is none.
func OpenDir(dir string) (*os.Root, error) {
	named, err := os.Lstat(dir)
	if err == nil {
		err = check(dir, named, fs.ModeDir, "is not a directory")
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(named, opened):
		err = &UntrustedError{dir, "was replaced while it was opened"}
	default:
		err = check(dir, opened, fs.ModeDir, "is not a directory")
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// CheckDir returns nil if the directory is trusted, otherwise the error of OpenDir.
func CheckDir(dir string) error {
	root, err := OpenDir(dir)
	if err != nil {
		return err
	}
	return root.Close()
}

// Resolve returns the absolute path of a directory without symbolic links, for OpenDir. If the
// directory itself is a link, the link must belong to this user or to root.
func Resolve(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if owner, ok := Owner(info); ok && !trusts(owner) {
		return "", &UntrustedError{dir, "belongs to " + UserName(owner)}
	}
	return filepath.EvalSymlinks(dir)
}

func openResolved(dir string) (*os.Root, error) {
	dir, err := Resolve(dir)
	if err != nil {
		return nil, err
	}
	return OpenDir(dir)
}

// ReadFile reads a trusted file of a trusted directory. The error is an UntrustedError, or the
// system's.
func ReadFile(root *os.Root, name string) ([]byte, error) {
	// Without O_NONBLOCK, opening a named pipe would wait.
	f, err := root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = check(f.Name(), info, 0, "is not a regular file")
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}

// ReadPath reads a file by its path, with ReadFile or ReadSecret. Its directory may be a link, as
// in Resolve.
func ReadPath(path string, read func(root *os.Root, name string) ([]byte, error)) ([]byte, error) {
	root, err := openResolved(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return read(root, filepath.Base(path))
}

func check(path string, info fs.FileInfo, kind fs.FileMode, otherKind string) error {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return &UntrustedError{path, "is a symbolic link"}
	case mode.Type() != kind:
		return &UntrustedError{path, otherKind}
	}
	return checkOwner(path, info)
}

func trusts(owner int) bool { return owner == 0 || owner == os.Geteuid() }

// UserName returns the name of a user, or "user" and its number if it has none.
func UserName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "user " + strconv.Itoa(uid)
}
