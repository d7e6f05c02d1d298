// Package cputime reads from Linux's /proc how much CPU time processes have used.
package cputime

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tick is the unit of /proc/PID/stat and /proc/stat: USER_HZ, which is 100 on every architecture.
const tick = 10 * time.Millisecond

type process struct {
	pid, parent int
	// used includes the time of children that were waited for, so that the sum of a tree never decreases.
	used time.Duration
}

// OfTree returns the time used so far by the process and its descendants, including those that have ended and were waited for.
// Use it for differences: it has an error of up to 10 ms per process.
func OfTree(root int) (time.Duration, error) {
	used, err := OfTrees(root)
	if err != nil {
		return 0, err
	}
	return used[0], nil
}

// OfTrees returns the time of OfTree for each process.
func OfTrees(roots ...int) ([]time.Duration, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	all, children := map[int]process{}, map[int][]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		p, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		all[p.pid], children[p.parent] = p, append(children[p.parent], p.pid)
	}
	used := make([]time.Duration, len(roots))
	for i, root := range roots {
		if _, ok := all[root]; !ok {
			return nil, fmt.Errorf("read CPU time: process %d is not in /proc, which only Linux has", root)
		}
		for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
			used[i] += all[queue[0]].used
			queue = append(queue, children[queue[0]]...)
		}
	}
	return used, nil
}

// OfMachine returns the time used by all processes together, and by other virtual machines on the same host (steal).
func OfMachine() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	var user, nice, system, idle, wait, irq, softirq, steal time.Duration // guest and guest_nice are in user and nice already
	if _, err := fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &softirq, &steal); err != nil {
		return 0, fmt.Errorf("read /proc/stat: %w", err)
	}
	return (user + nice + system + irq + softirq + steal) * tick, nil
}

// parse parses /proc/PID/stat, see proc(5). The command name in parentheses may contain parentheses.
func parse(text string) (p process, err error) {
	var state string
	var other int64
	var user, system, childrenUser, childrenSystem time.Duration
	if _, err := fmt.Sscanf(text, "%d (", &p.pid); err != nil {
		return p, err
	}
	_, err = fmt.Sscan(text[strings.LastIndexByte(text, ')')+1:], &state, &p.parent, &other, &other, &other, &other, &other, &other, &other, &other, &other,
		&user, &system, &childrenUser, &childrenSystem)
	p.used = (user + system + childrenUser + childrenSystem) * tick
	return p, err
}
