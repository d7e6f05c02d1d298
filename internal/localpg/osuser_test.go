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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"petstore.example/internal/test/assert"
)

// asRoot reports whether the tests run as root; some cases can only happen to root.
func asRoot() bool { return os.Geteuid() == 0 }

func nobody(t *testing.T) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("nobody")
	assert.NoError(t, err)
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func ownedDir(t *testing.T, who *syscall.Credential) string {
	t.Helper()
	dir := filepath.Join(tempDir(t), "home")
	assert.NoError(t, os.Mkdir(dir, 0o755))
	if who != nil {
		assert.NoError(t, os.Chown(dir, int(who.Uid), int(who.Gid)))
	}
	return dir
}

// Root refuses the directory of a plain user, who could put a link in the place of any file there.
// The plain user's data stays as it was.
func TestRootRefusesDirOfPlainUser(t *testing.T) {
	t.Parallel()
	if !asRoot() {
		return // only root could use it
	}
	plain := nobody(t)
	dir := filepath.Join(ownedDir(t, plain), ".petstore")
	h := startHelper(t, dir, plain)
	query(t, h.URL, oneNote)
	h.stop(t)

	_, err := Start(t.Context(), Options{Dir: dir})
	if want := "start PostgreSQL: " + dir +
		" is not trusted: it belongs to nobody: use another directory"; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}

	h = startHelper(t, dir, plain)
	wantNotes(t, h.URL, 1)
	h.stop(t)
}

// TestPlantedFiles: what another user could have put into the directory is not opened, and what it
// points to stays as it was.
func TestPlantedFiles(t *testing.T) {
	t.Parallel()
	link := func(name string) func(t *testing.T, dir, target string) {
		return func(t *testing.T, dir, target string) {
			t.Helper()
			assert.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
		}
	}
	for name, c := range map[string]struct {
		plant func(t *testing.T, dir, target string)
		want  string
	}{
		"log":  {link(logName), "postgres.log: path escapes from parent"},
		"lock": {link(lockName), "lock: path escapes from parent"},
		"writable by the group": {func(t *testing.T, dir, _ string) {
			t.Helper()
			assert.NoError(t, os.Chmod(dir, 0o775))
		}, "is not trusted: it can be written to by other users (mode 0775): use another directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := ownedDir(t, nil)
			target := filepath.Join(tempDir(t), "target")
			assert.NoError(t, os.WriteFile(target, []byte("mine"), 0o600))
			before, err := os.Stat(target)
			assert.NoError(t, err)
			c.plant(t, dir, target)
			if _, err := Start(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			after, err := os.Stat(target)
			assert.NoError(t, err)
			text, err := os.ReadFile(target)
			assert.Result(t, string(text), err, "mine", "the target holds")
			if diff := cmp.Diff(before.Sys(), after.Sys(), cmpopts.IgnoreFields(syscall.Stat_t{}, "Atim")); diff != "" {
				t.Error("the target changed:", diff)
			}
		})
	}
}

func TestDirOfAnotherUser(t *testing.T) {
	t.Parallel()
	if !asRoot() {
		return // only root can use another user's directory
	}
	dir := tempDir(t)
	stop(t, begin(t, Options{Dir: dir}))
	h := startHelper(t, dir, nobody(t))
	want := dir + " belongs to root: start as that user, or use another directory"
	assert.True(t, strings.HasSuffix(h.Error, want), h.Error, "want", want)
}

func TestUnreachableDirFallsBack(t *testing.T) {
	t.Parallel()
	if !asRoot() {
		return // the server then runs as the directory's owner
	}
	closed := filepath.Join(tempDir(t), "root")
	assert.NoError(t, os.Mkdir(closed, 0o700))
	dir := filepath.Join(closed, ".petstore")
	fallback := (&dataDir{dir: dir}).sharedDir("/var/tmp")
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(fallback)) })

	o, log := withLog(Options{Dir: dir})
	s := begin(t, o)
	if want := closed + " has mode 0700"; !strings.Contains(log.String(), want) ||
		!strings.Contains(log.String(), s.dir.path) {
		t.Errorf("logged %q, want %q and %s in it", log, want, s.dir.path)
	}
	query(t, s.URL("postgres", "postgres"), oneNote)
	stop(t, s)

	// The data is found again, whether the directory is reachable or not.
	for _, mode := range []os.FileMode{0o700, 0o755} {
		assert.NoError(t, os.Chmod(closed, mode))
		s := begin(t, Options{Dir: dir})
		wantNotes(t, s.URL("postgres", "postgres"), 1)
		stop(t, s)
	}
}

func TestSharedDirOfAnotherUser(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	link, target := filepath.Join(dir, "link"), filepath.Join(dir, "target")
	assert.NoError(t, os.Mkdir(target, 0o777))
	assert.NoError(t, os.Chmod(target, 0o777))
	assert.NoError(t, os.Symlink(dir, link))
	for _, path := range []string{link, target} {
		err := makeShared(filepath.Join(path, "postgres"))
		assert.True(t, err != nil, path, "is accepted")
	}
}
