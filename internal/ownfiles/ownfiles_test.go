package ownfiles_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/ownfiles"
	"petstore.example/internal/test/assert"
)

// place makes a trusted directory with a trusted file in it.
func place(t *testing.T) (dir, file string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "dir")
	file = filepath.Join(dir, "file")
	must(t, os.Mkdir(dir, 0o711), os.WriteFile(file, []byte("text"), 0o600))
	return dir, file
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	assert.NoError(t, errors.Join(errs...))
}

func read(dir string) (string, error) {
	root, err := ownfiles.OpenDir(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	text, err := ownfiles.ReadFile(root, "file")
	return string(text), err
}

// TestTrust: with which owners, modes and kinds a directory and its file are trusted.
func TestTrust(t *testing.T) {
	t.Parallel()
	const stranger = 1 // daemon
	chmod := func(mode os.FileMode) func(string) error { return func(p string) error { return os.Chmod(p, mode) } }
	chown := func(uid int) func(string) error { return func(p string) error { return os.Chown(p, uid, -1) } }
	replace := func(with func(path, was string) error) func(string) error {
		return func(p string) error {
			return errors.Join(os.Rename(p, p+".was"), with(p, p+".was"))
		}
	}
	link := replace(func(path, was string) error { return os.Symlink(was, path) })
	for name, c := range map[string]struct {
		dir, file func(string) error
		want      string // part of the error; "" for none
		root      bool   // only root can make this case
	}{
		"as made":      {},
		"all may read": {dir: chmod(0o755), file: chmod(0o644)},
		"directory of another": {dir: chown(stranger), want: "dir is not trusted: it belongs to daemon",
			root: true},
		"file of another": {file: chown(stranger), want: "file is not trusted: it belongs to daemon",
			root: true},
		"directory, group writes": {dir: chmod(0o770),
			want: "dir is not trusted: it can be written to by other users (mode 0770)"},
		"directory, others write": {dir: chmod(0o1777),
			want: "dir is not trusted: it can be written to by other users (mode 0777)"},
		"file, group writes": {file: chmod(0o660),
			want: "file is not trusted: it can be written to by other users (mode 0660)"},
		"file, others write": {file: chmod(0o606),
			want: "file is not trusted: it can be written to by other users (mode 0606)"},
		"directory is a link": {dir: link, want: "dir is not trusted: it is a symbolic link"},
		"directory is a file": {dir: replace(func(path,
			_ string) error {
			return os.WriteFile(path, nil, 0o600)
		}), want: "dir is not trusted: it is not a directory"},
		"file is a link that escapes": {file: replace(func(path,
			_ string) error {
			return os.Symlink("/etc/passwd", path)
		}), want: "path escapes from parent"},
		"file is a pipe": {file: replace(func(path, _ string) error { return syscall.Mkfifo(path, 0o600) }),
			want: "file is not trusted: it is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.root && os.Geteuid() != 0 {
				t.Log("only root can give a file away")
				return
			}
			dir, file := place(t)
			if c.file != nil {
				must(t, c.file(file))
			}
			if c.dir != nil {
				must(t, c.dir(dir))
			}
			text, err := read(dir)
			switch {
			case c.want == "" && (err != nil || text != "text"):
				t.Errorf("got %q, %v", text, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %q, %v, want %q", text, err, c.want)
			}
		})
	}
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	dir, file := place(t)
	must(t, os.Remove(file))
	for _, dir := range []string{dir, filepath.Join(dir, "other")} {
		_, err := read(dir)
		assert.ErrorIs(t, err, fs.ErrNotExist, dir)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	dir, _ := place(t)
	link := dir + ".link"
	must(t, os.Symlink(dir, link))
	want, err := filepath.EvalSymlinks(dir)
	must(t, err)
	got, err := ownfiles.Resolve(link)
	assert.Result(t, got, err, want, "a link of this user")
	if os.Geteuid() != 0 {
		return // only root can give a link away
	}
	must(t, os.Lchown(link, 1, 1))
	var untrusted *ownfiles.UntrustedError
	if got, err := ownfiles.Resolve(link); !errors.As(err, &untrusted) || untrusted.Path != link {
		t.Errorf("a link of another user: %q, %v", got, err)
	}
}
