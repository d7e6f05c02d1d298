//go:build linux

package packages_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
)

// unit is a service of the installed package, run as systemd would: with its command, its user, its
// variables and its credentials.
type unit struct {
	machine
	command,
	env []string
	uid uint32
}

// newUnit reads /usr/lib/systemd/system/NAME of a machine.
func newUnit(t *testing.T, m machine, name string) *unit {
	t.Helper()
	u, root := &unit{machine: m}, m.root
	credentials := "/run/credentials/" + name
	for line := range strings.Lines(programs.Read(t, filepath.Join(root, "usr/lib/systemd/system", name))) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "ExecStart":
			u.command = strings.Fields(value)
		case "User":
			u.uid = userID(t, root, value)
		case "Environment":
			u.env = append(u.env, strings.ReplaceAll(value, "%d", u.outside(credentials)))
		case "EnvironmentFile":
			u.env = append(u.env, settings(programs.Read(t, filepath.Join(root, strings.TrimPrefix(value, "-"))))...)
		case "LoadCredential":
			id, file, _ := strings.Cut(value, ":")
			write(t, filepath.Join(root, credentials, id), programs.Read(t, filepath.Join(root, file)))
		}
	}
	if os.Geteuid() == 0 { // as systemd does it: of the user, and nobody else may read it
		giveTo(t, filepath.Join(root, credentials), u.uid)
	}
	return u
}

// settings returns the lines of an environment file that are no comments.
func settings(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// outside returns a path as the unit's process sees it. Only root can give it the new root.
func (u *unit) outside(path string) string {
	if os.Geteuid() == 0 {
		return path
	}
	return filepath.Join(u.root, path)
}

// cmd returns a program of the package with arguments, in the unit's surroundings; without
// arguments, the unit's own.
func (u *unit) cmd(args ...string) *exec.Cmd {
	if len(args) == 0 {
		args = u.command
	}
	args = slices.Concat(u.inside, args)
	cmd := &exec.Cmd{
		Path:        u.outside(args[0]),
		Args:        args,
		Env:         u.env,
		Dir:         u.outside("/"),
		SysProcAttr: &syscall.SysProcAttr{},
	}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Chroot = u.root
	}
	if os.Geteuid() == 0 && u.inside == nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: u.uid, Gid: u.uid}
	}
	return cmd
}

// output runs a program to its end, and returns what it prints to stdout.
func (u *unit) output(args ...string) string {
	u.t.Helper()
	cmd := u.cmd(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	assert.NoError(u.t, cmd.Run(), cmd.Args, &stdout, &stderr)
	return stdout.String()
}

// userID returns the number of a user in root's /etc/passwd.
func userID(t *testing.T, root, name string) uint32 {
	t.Helper()
	for line := range strings.Lines(programs.Read(t, filepath.Join(root, "etc/passwd"))) {
		fields := strings.Split(line, ":")
		if fields[0] != name {
			continue
		}
		id, err := strconv.ParseUint(fields[2], 10, 32)
		if err != nil || id == 0 || id >= 1000 {
			t.Fatalf("%q is no user of the system", line)
		}
		return uint32(id)
	}
	t.Fatalf("no user %s", name)
	return 0
}

func giveTo(t *testing.T, dir string, uid uint32) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	assert.NoError(t, err)
	for _, file := range append(files, dir) {
		if err := os.Chown(file, int(uid), int(uid)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}
