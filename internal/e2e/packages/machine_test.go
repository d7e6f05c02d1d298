//go:build linux

package packages_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
)

// machine is a root directory in which packages of a format are installed.
type machine struct {
	t            *testing.T
	root, format string
	// inside is before the command of a unit: in a root with programs, these give the process what
	// they can of the unit's settings.
	inside []string
	// check checks what is there after the first installation.
	check func()
	// install installs a version of a package, or upgrades to it. remove and purge remove petstore.
	install       func(name, version string)
	remove, purge func()
	// tool runs the tool that manages packages.
	tool func(args ...string)
}

func (m machine) path(name string) string { return filepath.Join(m.root, name) }

// has checks which files there are.
func (m machine) has(files map[string]bool) {
	m.t.Helper()
	for path, want := range files {
		if _, err := os.Stat(m.path(path)); (err == nil) != want {
			m.t.Errorf("/%s: %v, want it there: %v", path, err, want)
		}
	}
}

// systemdInstalled is the status database of a root in which nothing is installed but systemd, on
// which the package depends.
const systemdInstalled = `Package: systemd
Status: install ok installed
Maintainer: nobody
Architecture: all
Version: 252.39-1~deb12u1
Description: stands in for the package of Debian 12
`

// emptyRoot returns a machine for dpkg that has no program. So scripts of packages run outside and
// are told where the root is.
func emptyRoot(t *testing.T) machine {
	t.Helper()
	m := machine{t: t, root: t.TempDir(), format: "deb"}
	for _, dir := range []string{"info", "updates"} {
		assert.NoError(t, os.MkdirAll(m.path("var/lib/dpkg/"+dir), 0o755))
	}
	write(t, m.path("var/lib/dpkg/status"), systemdInstalled)
	write(t, m.path("var/lib/dpkg/available"), "")
	// A process of another user passes through t.TempDir.
	for dir := m.root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		assert.NoError(t, os.Chmod(dir, 0o755))
	}
	m.tool = func(args ...string) {
		t.Helper()
		run(t, "dpkg", append([]string{"--root=" + m.root, "--force-script-chrootless", "--log=/dev/null"}, args...)...)
	}
	m.check = func() { checkFiles(t, m.root) }
	m.install = func(name, version string) { m.tool("--install", packageFile(t, name, version, "deb")) }
	m.remove = func() { m.tool("--remove", "petstore") }
	m.purge = func() { m.tool("--purge", "petstore") }
	return m
}

// debian returns a machine with a Debian from the mirror of this machine's apt. There dpkg and apt
// run as on any Debian; rpm, which the root has too, runs the scripts of its packages, but knows
// nothing of what they depend on.
func debian(t *testing.T, suite, format string) machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("debootstrap needs root: run make soak PARTS=packages as root")
	}
	m := machine{t: t, root: filepath.Join(t.TempDir(), suite), format: format}
	mirror, _, _ := strings.Cut(
		run(t, "apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Label: Debian"),
		"\n",
	)
	run(t, "debootstrap", "--variant=minbase", "--include=systemd,rpm", suite, m.root, mirror)
	m.inside = strings.Fields(
		"/usr/bin/prlimit --core=0 /usr/bin/setpriv --reuid=petstore --regid=petstore --clear-groups --no-new-privs " +
			"--bounding-set=-all --inh-caps=-all",
	)
	inside := func(args ...string) string {
		t.Helper()
		return run(t, "chroot", append([]string{m.root, "env", "DEBIAN_FRONTEND=noninteractive"}, args...)...)
	}
	m.check = func() {
		t.Helper()
		units := []string{"petstore.service", "petstore.socket", "petstore-migrate.service"}
		out := inside(append([]string{"systemd-analyze", "verify", "--man=no", "--recursive-errors=no"}, units...)...)
		assert.Equal(t, out, "", "systemd-analyze verify")
		out = inside("systemd-analyze", "security", "--offline=yes", "--threshold=20", units[0])
		lines := strings.Split(strings.TrimSpace(out), "\n")
		t.Logf("%s %s", strings.Fields(inside("systemd-analyze", "--version"))[1], lines[len(lines)-1])
		assert.Contains(t, programs.Read(t, m.path("etc/passwd")), "\npetstore:")
		if format == "deb" {
			assert.Equal(t, inside("dpkg", "--verify", "petstore"), "", "files that differ from those of the package")
		}
	}
	if format == "rpm" {
		rpm := []string{
			"rpm",
			"--dbpath=/var/lib/rpm",
			"--force-debian",
		} // Debian's own database is in the home directory
		m.tool = func(args ...string) { inside(slices.Concat(rpm, args)...) }
		m.install = func(name, version string) {
			m.tool("--upgrade", "--nodeps", m.copy(name, version))
			installed := inside(slices.Concat(rpm, []string{"--query", "--queryformat=%{VERSION}\n", name})...)
			assert.Equal(t, installed, strings.Replace(version, "-", "~", 1)+"\n", "installed")
		}
		m.remove = func() { m.tool("--erase", "petstore") }
		return m
	}
	m.tool = func(args ...string) { inside(append([]string{"apt-get", "--yes"}, args...)...) }
	m.install = func(name, version string) { m.tool("install", m.copy(name, version)) }
	m.remove = func() { m.tool("remove", "petstore") }
	m.purge = func() { m.tool("purge", "petstore") }
	return m
}

// copy copies a package into the root, and returns its path there.
func (m machine) copy(name, version string) string {
	m.t.Helper()
	file := packageFile(m.t, name, version, m.format)
	content, err := os.ReadFile(file)
	assert.NoError(m.t, err)
	write(m.t, m.path(filepath.Join("root", filepath.Base(file))), string(content))
	return filepath.Join("/root", filepath.Base(file))
}
