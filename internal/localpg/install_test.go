//go:build unix

package localpg

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
)

// installScript is what make calls before it starts anything that needs PostgreSQL or Redis.
const installScript = "../../tools/install.sh"

func TestInstallScriptSearchesAllDirs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(installScript)
	assert.NoError(t, err)
	for _, pattern := range packageDirs {
		if !strings.Contains(string(text), `"$root"`+pattern) {
			t.Errorf("%s does not search %s", installScript, pattern)
		}
	}
}

const (
	// aptGet notes what it is asked for and whether services and clusters are kept from being
	// started; then it installs.
	aptGet = `#!/bin/sh
echo "apt-get $1" >>"$DPKG_ROOT/calls"
[ "$1" = update ] || { "$DPKG_ROOT/usr/sbin/policy-rc.d"
	[ $? = 101 ] && [ -s "$DPKG_ROOT/etc/postgresql-common/createcluster.d/petstore-no-cluster.conf" ]; } ||
	echo unguarded >>"$DPKG_ROOT/calls"
`
	putRedis    = `: >"$DPKG_ROOT/bin/redis-server" && chmod 755 "$DPKG_ROOT/bin/redis-server"` + "\n"
	putPostgres = `dir=$DPKG_ROOT/usr/lib/postgresql/15/bin && mkdir -p "$dir" && for p in postgres initdb; do : ` +
		`>"$dir/$p" && chmod 755 "$dir/$p"; done` + "\n"
	staleIndex = `[ "$1" = update ] && { : >"$DPKG_ROOT/updated"; exit; }` + "\n" +
		`[ -e "$DPKG_ROOT/updated" ] || exit 100` + "\n"
	sudo = "#!/bin/sh\n" + `echo "sudo ${2##*/}" >>"$DPKG_ROOT/calls"; shift; FAKE_UID=0 exec "$@"` + "\n"
	brew = "#!/bin/sh\n" + `echo "brew $*" >>"$DPKG_ROOT/calls"` + "\n" + putRedis
)

// installRoot is a file system with nothing but a few commands and those named here, each a script.
func installRoot(t *testing.T, commands map[string]string) string {
	t.Helper()
	root := t.TempDir()
	bin := filepath.Join(root, "bin")
	assert.NoError(t, errors.Join(os.MkdirAll(bin, 0o755), os.MkdirAll(filepath.Join(root, "usr/sbin"), 0o755)))
	for _, name := range []string{"sh", "rm", "mkdir", "rmdir", "chmod", "flock"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(bin, name))
		}
		assert.NoError(t, err)
	}
	for name, script := range commands {
		assert.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755))
	}
	return root
}

// install runs the script in root and returns what it printed.
func install(t *testing.T, root, system, uid string, programs ...string) (string, error) {
	cmd := sandbox.Command(t, installScript, programs...)
	cmd.Dir = "."
	cmd.Env = []string{
		"PATH=" + filepath.Join(root, "bin"),
		"DPKG_ROOT=" + root,
		"FAKE_SYSTEM=" + system,
		"FAKE_UID=" + uid,
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestInstallScript(t *testing.T) {
	t.Parallel()
	const missing = "is missing, and could not be installed: install it with "
	tests := map[string]struct {
		system, uid string
		commands    map[string]string
		program     string
		calls       string // of package managers
		says        string // the last line; empty where it succeeds
	}{
		"there": {
			"Linux",
			"0",
			map[string]string{"apt-get": aptGet, "redis-server": ""},
			"redis-server",
			"",
			"",
		},
		"as root": {
			"Linux",
			"0",
			map[string]string{"apt-get": aptGet + putRedis},
			"redis-server",
			"apt-get install\n",
			"",
		},
		"postgres": {
			"Linux",
			"0",
			map[string]string{"apt-get": aptGet + putPostgres},
			"postgres",
			"apt-get install\n",
			"",
		},
		"stale index": {
			"Linux",
			"0",
			map[string]string{"apt-get": aptGet + staleIndex + putRedis},
			"redis-server",
			"apt-get install\napt-get update\napt-get install\n",
			"",
		},
		"no network": {
			"Linux",
			"0",
			map[string]string{"apt-get": aptGet + "exit 100", "apt-cache": "#!/bin/sh\n"},
			"chromium",
			"apt-get install\napt-get update\n",
			missing + "apt-get install chromium-headless-shell",
		},
		"other package": {
			"Linux",
			"0",
			map[string]string{"apt-get": aptGet},
			"postgres",
			"apt-get install\n",
			missing + "apt-get install postgresql",
		},
		"with sudo": {
			"Linux",
			"1000",
			map[string]string{"apt-get": aptGet + putRedis, "sudo": sudo},
			"redis-server",
			"sudo install.sh\nsudo install.sh\napt-get install\n",
			"",
		},
		"without sudo": {
			"Linux",
			"1000",
			map[string]string{"apt-get": aptGet, "sudo": "#!/bin/sh\nexit 1\n"},
			"redis-server",
			"",
			missing + "apt-get install redis-server",
		},
		"sudo for others": {
			"Linux",
			"1000",
			map[string]string{"apt-get": aptGet, "sudo": "#!/bin/sh\n[ \"$2\" = true ]\n"},
			"redis-server",
			"",
			missing + "apt-get install redis-server",
		},
		"no apt-get": {"Linux", "0", nil, "redis-server", "", missing + "apt-get install redis-server"},
		"Homebrew": {
			"Darwin",
			"501",
			map[string]string{"brew": brew},
			"redis-server",
			"brew install redis\n",
			"",
		},
		"without Homebrew": {"Darwin", "501", nil, "redis-server", "", missing + "brew install redis"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commands := map[string]string{
				"id":    "#!/bin/sh\necho $FAKE_UID\n",
				"uname": "#!/bin/sh\necho $FAKE_SYSTEM\n",
			}
			for name, script := range test.commands {
				commands[name] = script
			}
			root := installRoot(t, commands)
			out, err := install(t, root, test.system, test.uid, test.program)
			if (err != nil) != (test.says != "") || !strings.Contains(out, test.says) {
				t.Errorf("error %v, want %q: %s", err, test.says, out)
			}
			calls, _ := os.ReadFile(filepath.Join(root, "calls"))
			assert.DeepEqual(t, string(calls), test.calls, "calls")
			for _, left := range []string{"usr/sbin/policy-rc.d", "etc/postgresql-common"} {
				if _, err := os.Stat(filepath.Join(root, left)); err == nil {
					t.Errorf("%s is left", left)
				}
			}
		})
	}
}

func TestInstallScriptInstallsOnce(t *testing.T) {
	t.Parallel()
	root := installRoot(t, map[string]string{
		"id": "#!/bin/sh\necho 0\n", "uname": "#!/bin/sh\necho Linux\n", "apt-get": aptGet + "sleep 0.1\n" + putRedis,
	})
	assert.NoError(t, os.Symlink("/bin/sleep", filepath.Join(root, "bin/sleep")))
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if out, err := install(t, root, "Linux", "0", "redis-server"); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	calls, err := os.ReadFile(filepath.Join(root, "calls"))
	assert.Result(t, string(calls), err, "apt-get install\n")
}
