//go:build !windows

package cmdutil

import "os"

// understandsEscapes tells whether a terminal takes escape sequences for colors. TERM says which
// ones do not.
func understandsEscapes(*os.File) bool { return true }
