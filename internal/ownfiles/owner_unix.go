//go:build unix

package ownfiles

import (
	"fmt"
	"io/fs"
	"syscall"
)

const nonBlocking = syscall.O_NONBLOCK

// Owner returns the user ID of a file's owner, and false if the system does not tell it.
func Owner(info fs.FileInfo) (uid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

func checkOwner(path string, info fs.FileInfo) error {
	owner, ok := Owner(info)
	switch mode := info.Mode().Perm(); {
	case !ok:
		return &UntrustedError{path, "has no owner"}
	case !trusts(owner):
		return &UntrustedError{path, "belongs to " + UserName(owner)}
	case mode&0o022 != 0:
		return &UntrustedError{path, fmt.Sprintf("can be written to by other users (mode %#o)", mode)}
	}
	return nil
}
