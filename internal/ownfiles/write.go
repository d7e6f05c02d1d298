package ownfiles

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// MakeDir opens a trusted directory that only this user may enter, and makes it if there is none.
// An existing directory keeps its mode.
func MakeDir(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return openResolved(dir)
}

// WriteFile replaces a file of a trusted directory atomically. Only this user may read it.
func WriteFile(root *os.Root, name string, text []byte) error {
	tmp := name + "." + rand.Text()
	defer func() { _ = root.Remove(tmp) }()
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	// Otherwise the file may be empty after a crash of the machine.
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return root.Rename(tmp, name)
}

// ReadSecret is ReadFile for a file that nobody else may read either.
func ReadSecret(root *os.Root, name string) ([]byte, error) {
	text, err := ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if _, hasOwner := Owner(info); hasOwner && info.Mode().Perm()&0o077 != 0 {
		return nil, &UntrustedError{
			filepath.Join(root.Name(), name),
			fmt.Sprintf("can be read by other users (mode %#o)", info.Mode().Perm()),
		}
	}
	return text, nil
}
