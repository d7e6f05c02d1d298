//go:build unix && !linux

package localpg

import (
	"os/exec"
	"strconv"
	"strings"
)

// running returns the first process of a server on the folder data: the one that postmaster.pid names, if its command line
// names the folder.
func running(data string) []int {
	f, err := readPIDFile(data)
	if err != nil {
		return nil
	}
	out, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(f.pid)).Output()
	if err != nil || !strings.Contains(string(out), data) {
		return nil
	}
	return []int{f.pid}
}
