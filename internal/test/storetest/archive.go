package storetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"petstore.example/internal/test/assert"
)

// NewServerWith is NewServer with further settings of PostgreSQL.
func NewServerWith(t testing.TB, settings map[string]string) *PrivateServer {
	t.Helper()
	return newServer(t, settings)
}

// DataDir is the path of the server's data.
func (p *PrivateServer) DataDir() string { return filepath.Join(p.dir, "postgres", "data") }

// RemoveData removes the data of a killed or stopped server, but not its directory.
func (p *PrivateServer) RemoveData() {
	p.t.Helper()
	entries, err := os.ReadDir(p.DataDir())
	assert.NoError(p.t, err, "test server")
	for _, e := range entries {
		assert.NoError(p.t, os.RemoveAll(filepath.Join(p.DataDir(), e.Name())), "test server")
	}
}

// Own gives a directory to the owner of the server's data, if this process is root.
func (p *PrivateServer) Own(dir string) {
	p.t.Helper()
	if owner := p.owner(); os.Geteuid() == 0 {
		assert.NoError(p.t, os.Chown(dir, int(owner.Uid), int(owner.Gid)), "test server")
	}
}

// RunAsOwner runs a command as the user who owns the server's data, if this process is root.
func (p *PrivateServer) RunAsOwner(cmd *exec.Cmd) {
	p.t.Helper()
	if owner := p.owner(); os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	}
}

func (p *PrivateServer) owner() *syscall.Credential {
	p.t.Helper()
	info, err := os.Stat(p.DataDir())
	assert.NoError(p.t, err, "test server")
	stat := info.Sys().(*syscall.Stat_t)
	return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}
}
