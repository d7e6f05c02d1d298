//go:build unix

package syspkg

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var demo = Package{Name: "Demo", Apt: "demo-server", Brew: "demo@1"}

// shell is an installer that runs a script with one argument, and counts on no package manager.
func shell(script, arg string) func(context.Context, Package) []string {
	return func(context.Context, Package) []string { return []string{"/bin/sh", "-c", script, "sh", arg} }
}

func exists(path string) func() bool {
	return func() bool {
		_, err := os.Stat(path)
		return err == nil
	}
}

func TestEnsureInstallsOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, runs := filepath.Join(dir, "demo"), filepath.Join(dir, "runs")
	script := `echo run >>"` + runs + `"; sleep 0.1; touch "$1"`
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if err := ensure(t.Context(), io.Discard, demo, exists(program), shell(script, program)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := os.ReadFile(runs)
	if diff := cmp.Diff("run\n", string(got)); err != nil || diff != "" {
		t.Errorf("error %v; runs of the installer: %s", err, diff)
	}
}

func TestEnsureLeavesWhatIsThere(t *testing.T) {
	t.Parallel()
	installer := func(context.Context, Package) []string {
		t.Error("the installer is asked for")
		return nil
	}
	if err := ensure(t.Context(), io.Discard, demo, func() bool { return true }, installer); err != nil {
		t.Error(err)
	}
}

func TestEnsureFails(t *testing.T) {
	t.Parallel()
	never := func() bool { return false }
	noWay := func(context.Context, Package) []string { return nil }
	tests := map[string]struct {
		installer func(context.Context, Package) []string
		want      error // nil for any
		text      string
	}{
		"no way to install": {noWay, &NotInstalledError{Package: demo}, "Demo is not installed; install it with: "},
		"in vain":           {shell("true", ""), &NotInstalledError{Package: demo}, "Demo is not installed"},
		"installer fails":   {shell("seq 9; echo no network >&2; exit 100", ""), nil, "install Demo: exit status 100: 6; 7; 8; 9; no network"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := ensure(t.Context(), io.Discard, demo, never, test.installer)
			if err == nil || !strings.HasPrefix(err.Error(), test.text) {
				t.Errorf("got %v, want %q", err, test.text)
			}
			var missing *NotInstalledError
			if errors.As(err, &missing) != (test.want != nil) {
				t.Errorf("got %T, want %T", err, test.want)
			}
		})
	}
}

func TestEnsureCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := ensure(ctx, io.Discard, demo, func() bool { return false }, shell("true", ""))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// The script runs with an apt-get of the test's own, on a root folder of its own.
func TestAptScript(t *testing.T) {
	t.Parallel()
	const (
		policy  = "usr/sbin/policy-rc.d"
		cluster = "etc/postgresql-common/createcluster.d/petstore-no-cluster.conf"
	)
	tests := map[string]struct {
		aptGet string // a shell script; $root is the root folder
		calls  string
		fails  bool
	}{
		"known package": {``, "install\n", false},
		"stale index":   {`[ "$1" = update ] || [ -e "$root/updated" ] || exit 100; [ "$1" != update ] || touch "$root/updated"`, "install\nupdate\ninstall\n", false},
		"no network":    {`exit 100`, "install\nupdate\n", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			check := `[ "$1" = update ] || { "$root/` + policy + `"; [ $? = 101 ] && [ -s "$root/` + cluster + `" ] || echo unguarded >>"$root/calls"; }`
			fake := "#!/bin/sh\nroot='" + root + "'\necho \"$1\" >>\"$root/calls\"\n" + check + "\n" + test.aptGet + "\n"
			bin, sbin := filepath.Join(root, "bin"), filepath.Join(root, "usr/sbin")
			err := errors.Join(os.MkdirAll(bin, 0o755), os.MkdirAll(sbin, 0o755),
				os.WriteFile(filepath.Join(bin, "apt-get"), []byte(fake), 0o755))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", "-c", aptScript, "install", demo.Apt)
			cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "DPKG_ROOT=" + root}
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); (err != nil) != test.fails {
				t.Errorf("error %v: %s", err, &out)
			}
			calls, err := os.ReadFile(filepath.Join(root, "calls"))
			if diff := cmp.Diff(test.calls, string(calls)); err != nil || diff != "" {
				t.Errorf("error %v; calls of apt-get: %s", err, diff)
			}
			for _, left := range []string{policy, cluster} {
				if exists(filepath.Join(root, left))() {
					t.Errorf("%s is left", left)
				}
			}
		})
	}
}
