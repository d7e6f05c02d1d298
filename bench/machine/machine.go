// Package machine describes the machine and the versions that a benchmark's figures belong to. It
// does not contain the host name.
package machine

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Description is what the figures depend on.
type Description struct {
	Processor string // its model
	Cores     int
	MemoryMB  int64
	System    string // as "Debian GNU/Linux 12 (bookworm)"
	Kernel    string
	Arch      string
	Load      string // the load average of the last minute
}

// Describe describes this machine; what it cannot find out is "unknown" or 0.
func Describe() Description {
	var name unix.Utsname
	kernel := "unknown"
	if unix.Uname(&name) == nil {
		kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	load, _ := os.ReadFile("/proc/loadavg")
	kB, _ := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal", ":"), " kB"), 10, 64)
	return Description{
		Processor: cmp.Or(field("/proc/cpuinfo", "model name", ":"), "unknown"),
		Cores:     runtime.NumCPU(),
		MemoryMB:  kB / 1024,
		System:    cmp.Or(strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`), "unknown"),
		Kernel:    kernel,
		Arch:      runtime.GOARCH,
		Load:      cmp.Or(strings.SplitN(string(load), " ", 2)[0], "unknown"),
	}
}

func (d Description) String() string {
	return fmt.Sprintf("%d cores (%s, %s), %d MB of memory, %s, %s; load average %s",
		d.Cores, d.Processor, d.Arch, d.MemoryMB, d.System, d.Kernel, d.Load)
}

// Library returns the version of a module that is compiled in.
func Library(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return "unknown"
}

// field returns the value in the first line with that name, or "".
func field(file, name, separator string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, separator); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
