//go:build !windows

package cmdutil

import (
	"os"
	"syscall"
)

// understandsEscapes tells whether a terminal takes escape sequences for colors. TERM says which
// terminals do not.
func understandsEscapes(*os.File) bool { return true }

// isNull tells whether the file is the device /dev/null, in whatever file system.
func isNull(f *os.File) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode().Type() != null.Mode().Type() {
		return err != nil // A closed file counts as null.
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	want, wantOK := null.Sys().(*syscall.Stat_t)
	return ok && wantOK && is.Rdev == want.Rdev
}
