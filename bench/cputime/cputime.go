// Package cputime reads from Linux's /proc how much CPU time processes have used.
package cputime

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// tick is the unit of /proc/PID/stat: USER_HZ, which is 100 on every architecture.
const tick = 10 * time.Millisecond

// Of returns the CPU time used so far by the process and its children, including ended children
// that were waited for. If skip is not nil, it leaves out children for whose command line skip
// returns true. Each process has an error of up to 10 ms, so use differences.
func Of(pid int, skip func(commandLine string) bool) (used time.Duration, err error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0, err
	}
	found := false
	for _, p := range all {
		s, err := p.Stat()
		if err != nil || p.PID != pid && s.PPID != pid { // The process has ended.
			continue
		}
		found = found || p.PID == pid
		if line, err := p.CmdLine(); skip == nil || err != nil || !skip(strings.Join(line, " ")) {
			used += time.Duration(int(s.UTime+s.STime)+s.CUTime+s.CSTime) * tick
		}
	}
	if !found {
		return 0, fmt.Errorf("read CPU time: process %d is not in /proc, which only Linux has", pid)
	}
	return used, nil
}
