package e2e_test

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"time"

	"petstore.example/internal/test/sandbox"
)

// command is the result of a run of petstorectl.
type command struct {
	stdout, stderr string
	code           int
	exited         time.Time
}

// ctl runs petstorectl as a person in support on the deployment's database, and fails the test if
// it fails.
func (d *deployment) ctl(args ...string) command {
	d.t.Helper()
	c := d.tryCtl(args...)
	if c.code != 0 {
		d.t.Fatalf("petstorectl %s: exit %d: %s%s", strings.Join(args, " "), c.code, c.stdout, c.stderr)
	}
	return c
}

func (d *deployment) tryCtl(args ...string) command {
	d.t.Helper()
	return runCtl(d, "", []string{"PETSTORE_DATABASE_URL=" + d.staffURL}, args...)
}

// runCtl runs petstorectl in a directory with that environment.
func runCtl(d *deployment, dir string, env []string, args ...string) command {
	d.t.Helper()
	cmd := sandbox.Command(d.t, program(d.t, "petstorectl"), args...)
	if dir != "" {
		cmd.Dir = dir
	}
	cmd.Env = append(append(cmd.Env, "PETSTORE_ACTOR=e2e"), env...)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	err := cmd.Run()
	c := command{stdout: out.String(), stderr: messages.String(), exited: time.Now()}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		c.code = exit.ExitCode()
	} else if err != nil {
		d.t.Fatal(err)
	}
	return c
}
