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
)

// account is the operating system's user that the server runs as.
type account struct {
	name     string
	uid, gid int
	switches bool // another user than this process's
}

// accountFor returns the user to run the server as: this process's, or when that is root the owner of the data that is
// already there, else postgres, else nobody.
func accountFor(data string) (account, error) {
	if os.Geteuid() != 0 {
		return account{name: userName(os.Geteuid()), uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	if owner, ok := ownerOf(data); ok && owner != 0 {
		return lookUp(user.LookupId(strconv.Itoa(owner)))
	}
	a, err := lookUp(user.Lookup("postgres"))
	if unknown := user.UnknownUserError(""); errors.As(err, &unknown) {
		a, err = lookUp(user.Lookup("nobody"))
	}
	return a, err
}

func lookUp(u *user.User, err error) (account, error) {
	if err != nil {
		return account{}, fmt.Errorf("find a user for the database server: %w", err)
	}
	a := account{name: u.Username, switches: true}
	var uidErr, gidErr error
	a.uid, uidErr = strconv.Atoi(u.Uid)
	a.gid, gidErr = strconv.Atoi(u.Gid)
	return a, errors.Join(uidErr, gidErr)
}

// ownerOf returns the user id that path belongs to.
func ownerOf(path string) (uid int, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "user " + strconv.Itoa(uid)
}

// apply makes cmd run as the account, with an environment that cannot change what PostgreSQL does.
func (a account) apply(cmd *exec.Cmd) {
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	if tz, ok := os.LookupEnv("TZ"); ok {
		cmd.Env = append(cmd.Env, "TZ="+tz)
	}
	if a.switches {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}}
	}
}

// own makes path belong to the account.
func (a account) own(path string) error {
	if !a.switches {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}
