package ctl

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
)

// TestPlantedDevFile: a dev.json that another user could have written gets no connection. The same
// file of this user or of root does.
func TestPlantedDevFile(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("only root can act as several users; TestTrust of internal/ownfiles has the cases of one user")
		return
	}
	const root, daemon, bin = 0, 1, 2
	program := petstorectlForAll(t)
	for _, c := range []struct {
		user, folderOwner, fileOwner int
		mode                         os.FileMode // of the folder
		want                         string      // of stderr, where the file is not believed
	}{
		{user: daemon, folderOwner: daemon, fileOwner: daemon, mode: 0o755},
		{user: daemon, folderOwner: root, fileOwner: root, mode: 0o755},
		{user: root, folderOwner: root, fileOwner: root, mode: 0o755},
		{user: daemon, folderOwner: bin, fileOwner: bin, mode: 0o755,
			want: ".petstore is not trusted: it belongs to bin"},
		{user: root, folderOwner: bin, fileOwner: bin, mode: 0o755,
			want: ".petstore is not trusted: it belongs to bin"},
		{user: daemon, folderOwner: daemon, fileOwner: bin, mode: 0o755,
			want: "dev.json is not trusted: it belongs to bin"},
		{user: daemon, folderOwner: daemon, fileOwner: daemon, mode: 0o777,
			want: ".petstore is not trusted: it can be written to by other users (mode 0777)"},
	} {
		t.Run(
			fmt.Sprintf("user %d, folder of %d, file of %d, %#o", c.user, c.folderOwner, c.fileOwner, c.mode),
			func(t *testing.T) {
				t.Parallel()
				url, connections := countingServer(t)
				parent := folderForAll(t)
				folder := filepath.Join(parent, ".petstore")
				file := filepath.Join(folder, "dev.json")
				assert.NoError(t, errors.Join(os.Mkdir(folder, c.mode), os.Chmod(folder, c.mode),
					os.WriteFile(file, []byte(`{"database_url": "`+url+`"}`), 0o644),
					os.Chown(folder, c.folderOwner, c.folderOwner), os.Chown(file, c.fileOwner, c.fileOwner)))
				cmd := sandbox.Command(t, program, "tenant", "list")
				cmd.Dir = parent
				cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0")
				cmd.SysProcAttr = &syscall.SysProcAttr{
					Credential: &syscall.Credential{Uid: uint32(c.user), Gid: uint32(c.user)},
				}
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				_ = cmd.Run()
				used := "petstorectl: using the database of " + file + "\n"
				if c.want == "" {
					if connections.Load() == 0 || !strings.HasPrefix(stderr.String(), used) ||
						!strings.HasSuffix(stderr.String(), "exit 5\n") {
						t.Errorf(
							"%d connections, stderr %q, want some and %q",
							connections.Load(),
							stderr.String(),
							used,
						)
					}
					return
				}
				if connections.Load() != 0 || !strings.Contains(stderr.String(), c.want) ||
					!strings.HasSuffix(stderr.String(), "exit 2\n") {
					t.Errorf("%d connections, stderr %q, want none and %q", connections.Load(), stderr.String(), c.want)
				}
			},
		)
	}
}

// countingServer ends every connection at once, and counts them.
func countingServer(t *testing.T) (url string, connections *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	connections = &atomic.Int64{}
	go func() {
		for c, err := listener.Accept(); err == nil; c, err = listener.Accept() {
			connections.Add(1)
			_ = c.Close()
		}
	}()
	return "postgres://jo:s3cret@" + listener.Addr().String() + "/none?sslmode=disable", connections
}

// folderForAll makes a folder that every user may enter, unlike t.TempDir's.
func folderForAll(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "petstorectl-")
	assert.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	assert.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// petstorectlForAll copies this binary, which is petstorectl under that name, to where every user
// may run it.
func petstorectlForAll(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	assert.NoError(t, err)
	binary, err := os.ReadFile(exe)
	assert.NoError(t, err)
	program := filepath.Join(folderForAll(t), "petstorectl")
	// A process that another test starts meanwhile would inherit the open file, and what is open
	// for writing can't be run (ETXTBSY).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	assert.NoError(t, errors.Join(os.WriteFile(program, binary, 0o755), os.Chmod(program, 0o755)))
	return program
}
