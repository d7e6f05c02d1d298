//go:build unix && !linux

package subprocess

import (
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

func tie(*syscall.SysProcAttr, syscall.Signal) {}

// watch starts a shell that reads from a pipe which nobody writes to: it reads the end of it when this process is gone, and
// then signals the child.
func watch(pid int, orphaned syscall.Signal) (unwatch func(), err error) {
	const script = `read -r line && exit 0; kill -"$1" "$2" 2>/dev/null`
	cmd := exec.Command("/bin/sh", "-c", script, "watch", strconv.Itoa(int(orphaned)), strconv.Itoa(pid))
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
