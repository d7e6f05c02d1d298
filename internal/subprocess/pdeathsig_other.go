//go:build unix && !linux

package subprocess

import (
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

func setPdeathsig(*syscall.SysProcAttr, syscall.Signal) {}

// watchParent starts a shell that signals the child when a pipe from this process ends, as it does
// when this process is gone.
func watchParent(pid int, orphaned syscall.Signal) (stop func(), err error) {
	const script = `read -r line && exit 0; kill -"$1" "$2" 2>/dev/null`
	cmd := exec.Command("/bin/sh", "-c", script, "watch-parent", strconv.Itoa(int(orphaned)), strconv.Itoa(pid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_, _ = io.WriteString(pipe, "ended\n")
		_ = pipe.Close()
		_ = cmd.Wait()
	}, nil
}
