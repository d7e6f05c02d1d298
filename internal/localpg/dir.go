//go:build unix

package localpg

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"petstore.example/internal/ownfiles"
)

const (
	lockName   = "lock"
	logName    = "postgres.log"
	maxLogSize = 8 << 20 // a larger log is emptied
	socketName = ".s.PGSQL.5432"
	// maxSocketPath is the longest socket path that both Linux (107) and macOS (103) accept.
	maxSocketPath = 103
)

// dataDir is where a server keeps its files.
type dataDir struct {
	dir       string // the lock and the log
	lock      *os.File
	user      osUser
	path      string // holds the data; only the user may enter
	socketDir string // path, or a short one in /tmp if path is too long for a socket
}

func (d *dataDir) pgdata() string { return filepath.Join(d.path, "data") }

// openDir makes and locks the directory; the caller unlocks it. It refuses a directory in which
// another user could write, because this process, possibly root, makes, opens and chowns files
// there.
func openDir(dir string, log io.Writer) (*dataDir, error) {
	dir, err := makeDir(dir)
	d := &dataDir{dir: dir}
	if err == nil {
		err = d.tryLock()
	}
	if untrusted := (*ownfiles.UntrustedError)(nil); errors.As(err, &untrusted) {
		return nil, fmt.Errorf("%w: use another directory", err)
	}
	if owner, ok := ownerOf(dir); ok && errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf(
			"%s belongs to %s: start as that user, or use another directory",
			dir,
			ownfiles.UserName(owner),
		)
	}
	if err != nil {
		return nil, err
	}
	if err := d.choosePath(log); err != nil {
		d.unlock()
		return nil, err
	}
	return d, nil
}

// makeDir makes the directory and returns its path without links, so that the lock and the fallback
// do not depend on the name.
func makeDir(dir string) (string, error) {
	err := os.MkdirAll(filepath.Dir(dir), 0o711)
	if err == nil {
		err = mkdir(dir, 0o711) // the server's user can pass through, and nobody else can list
	}
	if err == nil {
		return ownfiles.Resolve(dir)
	}
	return dir, err
}

// mkdir makes a directory with the mode, whatever the umask. It leaves an existing directory as it
// is.
func mkdir(dir string, mode os.FileMode) error {
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, os.Chmod(dir, mode))
}

// open opens a file of the directory for appending, and follows no link out of it.
func (d *dataDir) open(name string, mode os.FileMode) (*os.File, error) {
	root, err := ownfiles.OpenDir(d.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, mode)
}

// flock locks a file until all descriptors of this opening are closed, in child processes too. It
// fails with EWOULDBLOCK if the file is locked already.
func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// tryLock fails if another process, or another Server of this one, uses the directory.
func (d *dataDir) tryLock() (err error) {
	if d.lock, err = d.open(lockName, 0o644); err != nil {
		return err
	}
	if err = flock(d.lock); err == nil {
		err = os.WriteFile(d.lock.Name(), fmt.Appendln(nil, os.Getpid()), 0o644)
	} else if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(d.lock, 32))
		err = fmt.Errorf("another petstore dev (pid %s) is using %s", strings.TrimSpace(string(holder)), d.dir)
	}
	if err != nil {
		_ = d.lock.Close()
	}
	return err
}

// unlock unlocks explicitly: another goroutine may be starting a child process, which holds a copy
// of the descriptor.
func (d *dataDir) unlock() {
	_ = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_UN)
	_ = d.lock.Close()
}

// choosePath sets the path of the data: dir/postgres, or a directory in /var/tmp (which survives a
// restart of the machine) if the server's user cannot work in dir. A path that already holds data
// wins.
func (d *dataDir) choosePath(log io.Writer) error {
	beside, fallback := filepath.Join(d.dir, "postgres"), d.sharedDir("/var/tmp")
	problem := ""
	if hasCluster(beside) || !hasCluster(fallback) {
		err := d.usePath(beside)
		if err == nil || hasCluster(beside) {
			return err
		}
		_ = os.Remove(beside)
		problem = err.Error() + ": "
	}
	if err := makeShared(fallback); err != nil {
		return err
	}
	if err := d.usePath(fallback); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(log, "%sthe data of %s is stored in %s\n", problem, d.dir, d.path)
	return nil
}

// usePath sets the path, its user and the directory of the socket. If the user cannot pass through
// a parent, and the modes show it, the error names the parent.
func (d *dataDir) usePath(path string) (err error) {
	d.path = path
	if d.user, err = userFor(d.pgdata()); err != nil {
		return err
	}
	if err = makePrivate(path, d.user); err == nil {
		return d.chooseSocketDir()
	}
	for parent := filepath.Dir(path); errors.Is(err, fs.ErrPermission) && parent != "/"; parent = filepath.Dir(parent) {
		if info, statErr := os.Stat(parent); statErr == nil && info.Mode().Perm()&0o001 == 0 {
			err = fmt.Errorf("%s has mode %#o", parent, info.Mode().Perm())
		}
	}
	return fmt.Errorf("%s cannot write to %s: %w", d.user.name, path, err)
}

// chooseSocketDir puts the socket into a short directory in /tmp if its path would be too long.
func (d *dataDir) chooseSocketDir() error {
	d.socketDir = d.path
	if len(filepath.Join(d.path, socketName)) <= maxSocketPath {
		return nil
	}
	d.socketDir = d.sharedDir("/tmp")
	return errors.Join(makeShared(d.socketDir), makePrivate(d.socketDir, d.user))
}

func hasCluster(path string) bool {
	_, err := os.Stat(filepath.Join(path, "data", "PG_VERSION"))
	return err == nil
}

// sharedDir returns a path for dir's files below a directory that all users share.
func (d *dataDir) sharedDir(parent string) string {
	sum := sha256.Sum256([]byte(d.dir))
	return filepath.Join(parent, fmt.Sprintf("petstore-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:6])), "postgres")
}

// makeShared makes the parent of a sharedDir. Another user may have made it first, so it is refused
// unless only this user or root can write to it.
func makeShared(dir string) error {
	parent := filepath.Dir(dir)
	if err := mkdir(parent, 0o755); err != nil {
		return err
	}
	return ownfiles.CheckDir(parent)
}

// makePrivate makes a directory that only the user may enter, and proves that the user can write to
// it.
func makePrivate(dir string, u osUser) error {
	if err := errors.Join(mkdir(dir, 0o700), u.chown(dir), os.Chmod(dir, 0o700)); err != nil {
		return err
	}
	// A try is the only sure test: modes, access lists, network file systems and containers can all
	// forbid it.
	cmd := exec.Command("/bin/sh", "-c", `cd "$1" && : >.probe && rm .probe`, "sh", dir)
	cmd.Dir = "/"
	u.run(cmd)
	if err := cmd.Run(); err != nil {
		return fs.ErrPermission
	}
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm() != 0o700 {
		return errors.New("the file system does not store permissions")
	}
	return err
}

// osUser is the operating system's user that runs the server.
type osUser struct {
	name  string
	other *syscall.Credential // nil for this process's user
}

// userFor returns the user for a server on pgdata: this process's user, or for root the owner of
// pgdata, else postgres, else nobody.
func userFor(pgdata string) (osUser, error) {
	if os.Geteuid() != 0 {
		return osUser{name: ownfiles.UserName(os.Geteuid())}, nil
	}
	u, err := user.Lookup("postgres")
	if owner, ok := ownerOf(pgdata); ok && owner != 0 {
		u, err = user.LookupId(strconv.Itoa(owner))
	} else if unknown := user.UnknownUserError(""); errors.As(err, &unknown) {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return osUser{}, fmt.Errorf("find a user for the database server: %w", err)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	return osUser{u.Username, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, errors.Join(uidErr, gidErr)
}

// ownerOf returns the user id of path's owner.
func ownerOf(path string) (uid int, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return ownfiles.Owner(info)
}

// run sets cmd to run as the user, in an environment without PostgreSQL's own variables.
func (u osUser) run(cmd *exec.Cmd) {
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	if tz, ok := os.LookupEnv("TZ"); ok {
		cmd.Env = append(cmd.Env, "TZ="+tz)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.other}
}

func (u osUser) chown(path string) error {
	if u.other == nil {
		return nil
	}
	return os.Lchown(path, int(u.other.Uid), int(u.other.Gid))
}
