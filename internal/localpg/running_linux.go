package localpg

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// running returns the processes of a server on the folder data: all of them work in that folder, whether the first one still
// lives or its orphans only. A root without the right to look into others' processes, as in a container, finds the first only.
func running(data string) []int {
	want, err := filepath.EvalSymlinks(data)
	if err != nil {
		return nil
	}
	var pids []int
	if f, err := readPIDFile(data); err == nil && isServerOf(f.pid, data) {
		pids = append(pids, f.pid)
	}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && linkTo(pid, "cwd") == want && filepath.Base(linkTo(pid, "exe")) == "postgres" && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func linkTo(pid int, name string) string {
	path, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), name))
	return strings.TrimSuffix(path, " (deleted)")
}

// isServerOf looks at the command line, which everyone may read.
func isServerOf(pid int, data string) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && slices.ContainsFunc(bytes.Split(line, []byte{0}), func(arg []byte) bool { return string(arg) == data })
}
