//go:build linux

package packages_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
)

// wanted are files of the package for servers, and a text that is in each. A file in .gz is not
// read.
var wanted = map[string]string{
	"usr/bin/petstore":                                                       "",
	"usr/bin/petstorectl":                                                    "",
	"usr/lib/systemd/system/petstore.service":                                "Type=notify",
	"usr/lib/systemd/system/petstore.socket":                                 "[Socket]",
	"usr/lib/systemd/system/petstore-migrate.service":                        "petstorectl migrate up",
	"usr/lib/sysusers.d/petstore.conf":                                       "u petstore",
	"etc/petstore/petstore.env":                                              "PETSTORE_BASE_URL",
	"usr/share/man/man1/petstorectl-key-issue.1.gz":                          "",
	"usr/share/man/man8/petstore-serve.8.gz":                                 "",
	"usr/share/bash-completion/completions/petstore":                         "bash completion",
	"usr/share/bash-completion/completions/petstorectl":                      "bash completion",
	"usr/share/zsh/vendor-completions/_petstore":                             "#compdef petstore",
	"usr/share/zsh/vendor-completions/_petstorectl":                          "#compdef petstorectl",
	"usr/share/fish/vendor_completions.d/petstore.fish":                      "fish completion",
	"usr/share/fish/vendor_completions.d/petstorectl.fish":                   "fish completion",
	"usr/share/doc/petstore/copyright":                                       "Apache License",
	"usr/share/doc/petstore/THIRD_PARTY_LICENSES.txt":                        "github.com/gin-gonic/gin",
	"usr/share/doc/petstore/examples/redis.conf":                             "LoadCredential",
	"usr/share/doc/petstore/examples/webhooks.conf":                          "LoadCredential",
	"usr/share/doc/petstore/examples/mail.conf":                              "LoadCredential",
	"usr/share/doc/petstore/examples/nginx.conf":                             "upstream",
	"usr/share/doc/petstore/examples/haproxy.cfg":                            "backend",
	"usr/share/doc/petstore/examples/Caddyfile":                              "reverse_proxy",
	"usr/share/doc/petstore/examples/prometheus/alerts.yml":                  "alert:",
	"usr/share/doc/petstore/examples/backup/pgbackrest.conf":                 "repo1-retention-full",
	"usr/share/doc/petstore/examples/grafana/petstore.json":                  "panels",
	"usr/share/doc/petstore/CHANGELOG.md":                                    "## v0.1.0",
	"usr/share/doc/petstore/docs/running.md":                                 "# Running it",
	"usr/share/doc/petstore/docs/petstorectl.md":                             "## Log in",
	"usr/share/doc/petstore/docs/reference/petstorectl.md":                   "# Reference of petstorectl",
	"usr/share/doc/petstore/docs/adr/0005-idempotency-in-one-transaction.md": "",
}

// checkFiles checks what is in a root after the installation. Nothing may be writable by others, or
// have an owner but root.
func checkFiles(t *testing.T, root string) {
	t.Helper()
	for path, text := range wanted {
		if text == "" {
			if info, err := os.Stat(filepath.Join(root, path)); err != nil || info.Size() == 0 {
				t.Errorf("/%s: %v", path, err)
			}
		} else if !strings.Contains(programs.Read(t, filepath.Join(root, path)), text) {
			t.Errorf("/%s has no %q", path, text)
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(path, filepath.Join(root, "var")) || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o644)
		if d.IsDir() || filepath.Dir(path) == filepath.Join(root, "usr/bin") {
			want = 0o755
		}
		// systemd-sysusers writes /etc/shadow.
		if mode := info.Mode().Perm(); mode != want && filepath.Dir(path) != filepath.Join(root, "etc") {
			t.Errorf("%s has mode %o, want %o", strings.TrimPrefix(path, root), mode, want)
		}
		return nil
	})
	assert.Equal(t, err, nil)
}

// TestRPM: rpm installs the package into an empty root, with the same files as dpkg.
func TestRPM(t *testing.T) {
	t.Parallel()
	file := packageFile(t, "petstore", newer, "rpm")
	assert.Contains(t, run(t, "rpm", "--checksig", file), "digests OK")
	root := t.TempDir()
	// Scripts would run in the new root, where there is no shell, and systemd is not installed.
	run(t, "rpm", "--root="+root, "--dbpath=/var/lib/rpm", "--install", "--nodeps", "--noscripts", file)
	checkFiles(t, root)
	configs := run(t, "rpm", "--query", "--configfiles", "--package", file)
	assert.Equal(t, strings.TrimSpace(configs), "/etc/petstore/petstore.env", "configuration files are", configs)
	if out := run(t, filepath.Join(root, "usr/bin/petstore"), "version"); !strings.HasPrefix(out, "petstore ") {
		t.Errorf("petstore version prints %q", out)
	}
}
