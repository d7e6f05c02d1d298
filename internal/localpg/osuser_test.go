//go:build unix

package localpg

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// asRoot reports whether the tests run as root; some cases can only happen to root.
func asRoot() bool { return os.Geteuid() == 0 }

func nobody(t *testing.T) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func ownedDir(t *testing.T, who *syscall.Credential) string {
	t.Helper()
	dir := filepath.Join(tempDir(t), "home")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if who != nil {
		if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A plain user starts a server, then root does on the same directory, then the plain user again: data and owner stay.
func TestPlainUserThenRootThenPlainUser(t *testing.T) {
	t.Parallel()
	var plain *syscall.Credential // whoever runs the tests
	if asRoot() {
		plain = nobody(t)
	}
	dir := filepath.Join(ownedDir(t, plain), ".petstore")
	h := startHelper(t, dir, plain)
	query(t, h.URL, oneNote)
	h.stop(t)

	s := begin(t, Options{Dir: dir})
	query(t, s.URL("postgres", "postgres"), nextNote)
	stop(t, s)

	h = startHelper(t, dir, plain)
	wantNotes(t, h.URL, 2)
	h.stop(t)
}

func TestDirOfAnotherUser(t *testing.T) {
	t.Parallel()
	if !asRoot() {
		return // only root can use another user's directory
	}
	dir := tempDir(t)
	stop(t, begin(t, Options{Dir: dir}))
	h := startHelper(t, dir, nobody(t))
	if want := dir + " belongs to root: start as that user, or use another directory"; !strings.HasSuffix(h.Error, want) {
		t.Errorf("got %q, want %q", h.Error, want)
	}
}

func TestUnreachableDirFallsBack(t *testing.T) {
	t.Parallel()
	if !asRoot() {
		return // the server then runs as the directory's owner
	}
	closed := filepath.Join(tempDir(t), "root")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(closed, ".petstore")
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Join(fallbackParent, shortName(dir))) })

	o, log := withLog(Options{Dir: dir})
	s := begin(t, o)
	if want := closed + " has mode 0700"; !strings.Contains(log.String(), want) || !strings.Contains(log.String(), s.dir.path) {
		t.Errorf("logged %q, want %q and %s in it", log, want, s.dir.path)
	}
	query(t, s.URL("postgres", "postgres"), oneNote)
	stop(t, s)

	// The data is found again, whether the directory is reachable or not.
	for _, mode := range []os.FileMode{0o700, 0o755} {
		if err := os.Chmod(closed, mode); err != nil {
			t.Fatal(err)
		}
		s := begin(t, Options{Dir: dir})
		wantNotes(t, s.URL("postgres", "postgres"), 1)
		stop(t, s)
	}
}

func TestSharedDirOfAnotherUser(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	link, target := filepath.Join(dir, "link"), filepath.Join(dir, "target")
	if err := os.Mkdir(target, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(target, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, target} {
		if err := mkdirShared(path, os.Geteuid()); err == nil {
			t.Errorf("%s is accepted", path)
		}
	}
}
