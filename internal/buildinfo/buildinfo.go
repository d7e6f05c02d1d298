// Package buildinfo says which version a program is: the version that the linker set for a release,
// else the one that the Go tool wrote into it. Its functions are safe for concurrent use. Unknown
// values are empty.
package buildinfo

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Info says how a program was built.
type Info struct {
	Version string
	// Commit and Time are the last commit and its time, empty if the program was built outside a
	// clone.
	Commit, Time string
	Go           string
}

// Read returns how this program was built. version, if not empty, takes precedence over the Go
// tool's.
func Read(version string) Info {
	i := Info{Version: cmp.Or(version, "(devel)"), Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return i
	}
	i.Version = cmp.Or(version, info.Main.Version, i.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = s.Value
		case "vcs.time":
			i.Time = s.Value
		}
	}
	return i
}

// Line returns the line that a program prints as its version: its name, the version, the commit and
// the Go release.
func (i Info) Line(program string) string {
	text := program + " " + i.Version
	if i.Commit == "" {
		return fmt.Sprintf("%s (%s)", text, i.Go)
	}
	return fmt.Sprintf("%s (%.12s, %s)", text, i.Commit, i.Go)
}
