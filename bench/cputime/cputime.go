// Package cputime reads from Linux's /proc how much CPU time processes have used.
package cputime

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/PID/stat and /proc/stat: USER_HZ, which is 100 on every architecture.
const tick = 10 * time.Millisecond

type process struct {
	parent int
	// used includes the time of children that were waited for, so that the sum of a tree never decreases.
	used time.Duration
}

// OfTrees returns the time used so far by each process and its descendants, including those that have ended and were waited for.
// Use it for differences: each has an error of up to 10 ms per process.
func OfTrees(roots ...int) ([]time.Duration, error) {
	all, err := snapshot()
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for pid, p := range all {
		children[p.parent] = append(children[p.parent], pid)
	}
	used := make([]time.Duration, len(roots))
	for i, root := range roots {
		if _, ok := all[root]; !ok {
			return nil, fmt.Errorf("read CPU time: process %d is gone", root)
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
	line, _, _ := strings.Cut(string(text), "\n")
	// cpu user nice system idle iowait irq softirq steal guest guest_nice: the last two are in user and nice already.
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, errors.New("read CPU time: /proc/stat has an unknown format")
	}
	sum, err := ticks(fields[1], fields[2], fields[3], fields[6], fields[7], fields[8])
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return sum, nil
}

func snapshot() (map[int]process, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		return nil, errors.New("read CPU time: cannot read /proc, which only Linux has")
	}
	all := map[int]process{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, p, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		all[pid] = p
	}
	return all, nil
}

// parse parses /proc/PID/stat, see proc(5). The command name in parentheses may contain parentheses.
func parse(text []byte) (int, process, error) {
	open, closed := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || closed < open {
		return 0, process{}, errors.New("no command name")
	}
	fields := strings.Fields(string(text[closed+1:]))
	if len(fields) < 15 {
		return 0, process{}, errors.New("too few fields")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:open])))
	if err != nil {
		return 0, process{}, err
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0, process{}, err
	}
	used, err := ticks(fields[11:15]...) // utime stime cutime cstime
	return pid, process{parent: parent, used: used}, err
}

func ticks(fields ...string) (time.Duration, error) {
	var sum time.Duration
	for _, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}
