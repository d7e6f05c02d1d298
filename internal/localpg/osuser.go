//go:build unix

package localpg

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"

	"petstore.example/internal/ownfiles"
)

// osUser is the operating system's user that the server runs as.
type osUser struct {
	name     string
	uid, gid int
	switches bool // it is not this process's user
}

// userFor returns the user for a server on pgdata: this process's user, or for root the owner of pgdata, else postgres, else
// nobody.
func userFor(pgdata string) (osUser, error) {
	if os.Geteuid() != 0 {
		return osUser{name: ownfiles.UserName(os.Geteuid()), uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	if owner, ok := ownerOf(pgdata); ok && owner != 0 {
		return toOSUser(user.LookupId(strconv.Itoa(owner)))
	}
	u, err := toOSUser(user.Lookup("postgres"))
	if unknown := user.UnknownUserError(""); errors.As(err, &unknown) {
		u, err = toOSUser(user.Lookup("nobody"))
	}
	return u, err
}

func toOSUser(u *user.User, err error) (osUser, error) {
	if err != nil {
		return osUser{}, fmt.Errorf("find a user for the database server: %w", err)
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	return osUser{name: u.Username, uid: uid, gid: gid, switches: true}, errors.Join(uidErr, gidErr)
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
	if u.switches {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.gid)}}
	}
}

func (u osUser) chown(path string) error {
	if !u.switches {
		return nil
	}
	return os.Lchown(path, u.uid, u.gid)
}
