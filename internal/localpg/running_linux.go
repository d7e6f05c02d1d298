package localpg

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// running returns the processes of a server on the folder data: the first one, its children, and those that work in that folder
// though their first one is gone. In a container root may not see where other users' processes work, and misses the last kind.
func running(data string) []int {
	want, err := filepath.EvalSymlinks(data)
	if err != nil {
		return nil
	}
	first := 0
	if f, err := readPIDFile(data); err == nil && isServerOf(f.pid, data) {
		first = f.pid
	}
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		worksThere := linkTo(pid, "cwd") == want && filepath.Base(linkTo(pid, "exe")) == "postgres"
		if worksThere || first != 0 && (pid == first || parentOf(pid) == first) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func linkTo(pid int, name string) string {
	path, _ := os.Readlink(procFile(pid, name))
	return strings.TrimSuffix(path, " (deleted)")
}

// isServerOf looks at the command line, which everyone may read, and which a process that has ended does not have.
func isServerOf(pid int, data string) bool {
	line, err := os.ReadFile(procFile(pid, "cmdline"))
	return err == nil && slices.ContainsFunc(bytes.Split(line, []byte{0}), func(arg []byte) bool { return string(arg) == data })
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
