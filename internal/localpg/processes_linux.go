package localpg

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processesOn returns the processes of a server on pgdata: the postmaster, its children, and those that work in pgdata although
// the postmaster is gone. In a container root may not see where other users' processes work, and misses the last kind.
func processesOn(pgdata string) []int {
	want, err := filepath.EvalSymlinks(pgdata)
	if err != nil {
		return nil
	}
	postmaster, _, err := readPIDFile(pgdata)
	if err != nil || !isServerOn(postmaster, pgdata) {
		postmaster = 0
	}
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		worksThere := readLink(pid, "cwd") == want && filepath.Base(readLink(pid, "exe")) == "postgres"
		if worksThere || postmaster != 0 && (pid == postmaster || parentOf(pid) == postmaster) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func readLink(pid int, name string) string {
	path, _ := os.Readlink(procFile(pid, name))
	return strings.TrimSuffix(path, " (deleted)")
}

// isServerOn looks for pgdata in the command line, which everyone may read and which is empty for a process that has ended.
func isServerOn(pid int, pgdata string) bool {
	line, err := os.ReadFile(procFile(pid, "cmdline"))
	return err == nil && slices.ContainsFunc(bytes.Split(line, []byte{0}), func(arg []byte) bool { return string(arg) == pgdata })
}

// parentOf returns the parent's process id: the second field after the command's name, which ends with the last parenthesis.
func parentOf(pid int) int {
	stat, _ := os.ReadFile(procFile(pid, "stat"))
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}

func procFile(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }
