package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"petstore.example/internal/envvars"
	"petstore.example/internal/server/config"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
)

const unitFolder = "../../deploy/systemd"

// furtherSecrets are drop-ins of petstore.service.
var furtherSecrets = []string{"redis.conf", "webhooks.conf", "mail.conf"}

var units = []string{"petstore.service", "petstore.socket", "petstore-migrate.service"}

// systemRoot returns a root with the units, after change, and programs for them to start.
func systemRoot(t *testing.T, change func(text string) string) string {
	t.Helper()
	root := t.TempDir()
	folder := filepath.Join(root, "etc/systemd/system")
	for _, dir := range []string{folder, filepath.Join(folder, "petstore.service.d"), filepath.Join(root, "usr/bin")} {
		assert.NoError(t, os.MkdirAll(dir, 0o700))
	}
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		assert.NoError(t, os.WriteFile(path, []byte(text), mode))
	}
	for _, unit := range units {
		write(filepath.Join(folder, unit), change(read(t, filepath.Join(unitFolder, unit))), 0o600)
	}
	for _, further := range furtherSecrets {
		write(
			filepath.Join(folder, "petstore.service.d", further),
			change(read(t, filepath.Join(unitFolder, further))),
			0o600,
		)
	}
	for _, program := range []string{"petstore", "petstorectl"} {
		write(filepath.Join(root, "usr/bin", program), "#!/bin/sh\n", 0o700)
	}
	return root
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	assert.NoError(t, err)
	return string(text)
}

func analyze(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := sandbox.Command(t, "systemd-analyze", args...).CombinedOutput()
	return string(out), err
}

// TestUnits: systemd knows every setting of the units, and they are hardened. What is wrong with a
// unit is found.
func TestUnits(t *testing.T) {
	t.Parallel()
	verify := func(change func(string) string) (string, error) {
		t.Helper()
		return analyze(
			t,
			append(
				[]string{"verify", "--man=no", "--recursive-errors=no", "--root=" + systemRoot(t, change)},
				units...)...)
	}
	unchanged := func(text string) string { return text }
	out, err := verify(unchanged)
	assert.Result(t, out, err, "", "systemd-analyze verify")
	for right, wrong := range map[string]string{
		"ProtectSystem=strict": "ProtectSystm=strict", "Type=notify": "Type=notifies",
		"petstore serve":           "petstor serve",
		"LoadCredential=redis_url": "LoadCredentials=redis_url", "FileDescriptorName=": "FileDescriptor=",
	} {
		if out, err := verify(func(text string) string { return strings.Replace(text, right, wrong, 1) }); err == nil {
			t.Errorf("systemd-analyze verify does not find %s: %s", wrong, out)
		}
	}
	// The threshold is ten times the exposure level.
	for _, unit := range []string{"petstore.service", "petstore-migrate.service"} {
		harden := []string{"security", "--offline=yes", "--threshold=20", unit}
		if out, err := analyze(t, append(harden, "--root="+systemRoot(t, unchanged))...); err != nil {
			t.Errorf("%s is not hardened: %v\n%s", unit, err, out)
		}
		// A dump would hold keys, and the passwords of the URLs.
		if !strings.Contains(read(t, filepath.Join(unitFolder, unit)), "\nLimitCORE=0\n") {
			t.Errorf("%s may leave a dump of its memory", unit)
		}
		soft := func(text string) string {
			return regexp.MustCompile(
				`(?m)^(SystemCall|Protect|Restrict|Capability|Private).*$`,
			).ReplaceAllString(
				text,
				"",
			)
		}
		if out, err := analyze(t, append(harden, "--root="+systemRoot(t, soft))...); err == nil {
			t.Errorf("%s passes without its hardening:\n%s", unit, out)
		}
	}
}

// TestBackupUnits: systemd knows every setting of the units in deploy/backup, and when its timers
// are due. The timers start services that exist.
func TestBackupUnits(t *testing.T) {
	t.Parallel()
	const backups = "../../deploy/backup"
	root := t.TempDir()
	assert.NoError(t, os.CopyFS(filepath.Join(root, "etc/systemd/system"), os.DirFS(backups)))
	for _, program := range []string{"bin/pgbackrest", "local/bin/petstore-dump", "local/bin/petstore-backup-done"} {
		path := filepath.Join(root, "usr", program)
		assert.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700))
	}
	verify := []string{
		"verify",
		"--man=no",
		"--recursive-errors=no",
		"--root=" + root,
		"petstore-dump.service",
		"petstore-backup@full.service",
	}
	timers, err := filepath.Glob(backups + "/*.timer")
	assert.NoError(t, err)
	for _, timer := range timers {
		name := filepath.Base(timer)
		verify = append(verify, name)
		due := regexp.MustCompile(`(?m)^OnCalendar=(.*)$`).FindStringSubmatch(read(t, timer))
		out, err := analyze(t, "calendar", due[1])
		assert.NoError(t, err, name, out)
	}
	assert.Equal(t, len(verify), 9, "three timers", verify)
	out, err := analyze(t, verify...)
	assert.Result(t, out, err, "", "systemd-analyze verify")
	unit := filepath.Join(root, "etc/systemd/system/petstore-backup@.service")
	assert.NoError(t, os.WriteFile(unit, []byte(strings.Replace(read(t, unit), "Type=oneshot", "Type=once", 1)), 0o600))
	out, err = analyze(t, verify...)
	assert.True(t, err != nil, "systemd-analyze verify does not find a wrong type:", out)
}

// TestMemoryLimits: Go knows of the limit at which the kernel would kill the server, in the unit
// and in the example of another size.
func TestMemoryLimits(t *testing.T) {
	t.Parallel()
	size := func(text, pattern string) int {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in %s", pattern, text)
		}
		n, err := strconv.Atoi(m[1])
		assert.NoError(t, err)
		if m[2] == "G" {
			n <<= 10
		}
		return n
	}
	_, example, _ := strings.Cut(read(t, "../../docs/running.md"), "\n[Service]\n")
	for _, text := range []string{read(t, filepath.Join(unitFolder, "petstore.service")), example} {
		most, limit := size(text, `(?m)^MemoryMax=(\d+)([MG])$`), size(text, `(?m)^Environment=GOMEMLIMIT=(\d+)(M)iB$`)
		if limit < most*85/100 || limit > most*9/10 {
			t.Errorf("GOMEMLIMIT is %d MiB, MemoryMax %d MiB: want nine tenths", limit, most)
		}
	}
}

// TestUser: the file makes the user that the units run as.
func TestUser(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	assert.NoError(t, os.Mkdir(filepath.Join(root, "etc"), 0o700))
	path, err := filepath.Abs(filepath.Join(unitFolder, "petstore.sysusers"))
	assert.NoError(t, err)
	if out, err := sandbox.Command(t, "systemd-sysusers", "--root="+root, path).CombinedOutput(); err != nil {
		t.Fatalf("systemd-sysusers: %v\n%s", err, out)
	}
	if text := read(
		t,
		filepath.Join(root, "etc/passwd"),
	); !regexp.MustCompile(
		`(?m)^petstore:.*:/usr/sbin/nologin$`,
	).MatchString(
		text,
	) {
		t.Errorf("no user petstore without a shell in %q", text)
	}
	for _, unit := range []string{"petstore.service", "petstore-migrate.service"} {
		if !strings.Contains(read(t, filepath.Join(unitFolder, unit)), "\nUser=petstore\n") {
			t.Errorf("%s runs as another user", unit)
		}
	}
}

// TestUnitVariables: the examples of petstore.env are a configuration that is taken, and all
// variables of the units exist.
func TestUnitVariables(t *testing.T) {
	t.Parallel()
	environ := []string{"PETSTORE_DATABASE_URL=postgres://h/db"}
	for _, m := range regexp.MustCompile(`(?m)^#([A-Z_]+=.*)$`).FindAllStringSubmatch(read(t,
		filepath.Join(unitFolder, "petstore.env")), -1) {
		environ = append(environ, m[1])
	}
	assert.True(t, len(environ) >= 5, "petstore.env has few examples", environ)
	_, err := config.Read(environ)
	assert.Equal(t, err, nil, "petstore.env")
	for _, file := range slices.Concat(units, furtherSecrets, []string{"petstore.env"}) {
		for _, name := range regexp.MustCompile(`PETSTORE_[A-Z_]+`).FindAllString(read(t,
			filepath.Join(unitFolder, file)), -1) {
			if !slices.Contains(envvars.Names(), name) {
				t.Errorf("%s has %s, which no program reads", file, name)
			}
		}
	}
}
