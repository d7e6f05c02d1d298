package e2e_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"
)

// command is what a run of petstorectl came to.
type command struct {
	stdout, stderr string
	code           int
	exited         time.Time
}

// ctl runs petstorectl on the house's database and fails the test when it fails.
func (h *house) ctl(args ...string) command {
	h.t.Helper()
	c := h.tryCtl(args...)
	if c.code != 0 {
		h.t.Fatalf("petstorectl %s: exit %d: %s%s", strings.Join(args, " "), c.code, c.stdout, c.stderr)
	}
	return c
}

func (h *house) tryCtl(args ...string) command {
	h.t.Helper()
	return runCtl(h, "", []string{"PETSTORE_DATABASE_URL=" + h.databaseURL}, args...)
}

// runCtl runs petstorectl in a folder with that environment.
func runCtl(h *house, dir string, env []string, args ...string) command {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), program(h.t, "petstorectl"), args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "PETSTORE_ACTOR=e2e"}, env...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := cmd.Run()
	c := command{stdout: out.String(), stderr: talk.String(), exited: time.Now()}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		c.code = exit.ExitCode()
	} else if err != nil {
		h.t.Fatal(err)
	}
	return c
}
