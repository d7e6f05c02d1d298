//go:build unix && !linux

package localpg

import (
	"os/exec"
	"strconv"
	"strings"
)

// processesOn returns the postmaster on pgdata: the process that postmaster.pid names, if its command line names pgdata.
func processesOn(pgdata string) []int {
	pid, _, err := readPIDFile(pgdata)
	if err != nil {
		return nil
	}
	out, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil || !strings.Contains(string(out), pgdata) {
		return nil
	}
	return []int{pid}
}
