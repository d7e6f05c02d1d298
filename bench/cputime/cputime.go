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

// OfTree returns the time used so far by the process and its descendants, including those that have
// ended and were waited for. Use it for differences: it has an error of up to 10 ms per process.
func OfTree(root int) (time.Duration, error) {
	used, _, err := OfTrees(nil, root)
	if err != nil {
		return 0, err
	}
	return used[0], nil
}

// OfTrees returns the time of OfTree for each process, and that of each single process on the
// machine whose command line matches, by its ID.
func OfTrees(
	matches func(commandLine string) bool,
	roots ...int,
) (used []time.Duration, matching map[int]time.Duration, err error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, nil, err
	}
	ofProcess, children := map[int]time.Duration{}, map[int][]int{}
	matching = map[int]time.Duration{}
	for _, p := range all {
		if s, err := p.Stat(); err == nil { // Otherwise it has ended.
			// With the time of children that were waited for, so that the sum of a tree never
			// decreases.
			ofProcess[p.PID] = time.Duration(int(s.UTime+s.STime)+s.CUTime+s.CSTime) * tick
			children[s.PPID] = append(children[s.PPID], p.PID)
			if line, err := p.CmdLine(); err == nil && matches != nil && matches(strings.Join(line, " ")) {
				matching[p.PID] = ofProcess[p.PID]
			}
		}
	}
	used = make([]time.Duration, len(roots))
	for i, root := range roots {
		if _, ok := ofProcess[root]; !ok {
			return nil, nil, fmt.Errorf("read CPU time: process %d is not in /proc, which only Linux has", root)
		}
		for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
			used[i] += ofProcess[queue[0]]
			queue = append(queue, children[queue[0]]...)
		}
	}
	return used, matching, nil
}

// OfMachine returns the time used by all processes together, and by other virtual machines on the
// same host (steal).
func OfMachine() (time.Duration, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	stat, err := fs.Stat()
	t := stat.CPUTotal // The time of guests is in User and Nice already.
	return time.Duration((t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal) * float64(time.Second)), err
}
