// Package machine describes the machine that a benchmark's figures belong to, without its host
// name.
package machine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Description has what the figures depend on.
type Description struct {
	Cores    int
	MemoryMB int64
	text     string
}

// Describe describes this machine. Unknown values are empty or 0.
func Describe() Description {
	var name unix.Utsname
	_ = unix.Uname(&name)
	kernel := unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	load, _ := os.ReadFile("/proc/loadavg")
	minute, _, _ := strings.Cut(string(load), " ")
	kB, _ := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal", ":"), " kB"), 10, 64)
	d := Description{Cores: runtime.NumCPU(), MemoryMB: kB / 1024}
	d.text = fmt.Sprintf("%d cores (%s, %s), %d MB of memory, %s, %s; load average %s",
		d.Cores, field("/proc/cpuinfo", "model name", ":"), runtime.GOARCH, d.MemoryMB,
		strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`), kernel, minute)
	return d
}

func (d Description) String() string { return d.text }

// field returns the value in the first line that has the name, or "".
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
