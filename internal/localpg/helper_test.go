//go:build unix

package localpg

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	_ "github.com/lib/pq"
	"go.uber.org/goleak"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
)

// helperDir names the environment variable that makes the test binary a second petstore: it starts
// a server on the directory, reports it as one line of JSON, and stops it when its input ends.
const helperDir = "LOCALPG_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		os.Exit(runHelper(dir))
	}
	goleak.VerifyTestMain(m)
}

type report struct {
	URL, Error string
	PID        int
}

func runHelper(dir string) int {
	s, err := Start(context.Background(), Options{Dir: dir})
	var r report
	if err != nil {
		r.Error = err.Error()
	} else {
		r.URL, r.PID = s.URL("postgres", "postgres"), s.PID()
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil || r.Error != "" {
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// helper is another process that runs a server.
type helper struct {
	report
	cmd   *exec.Cmd
	stdin io.Closer
}

// startHelper starts a server on dir in another process, as the user that credential names.
func startHelper(t *testing.T, dir string, credential *syscall.Credential) *helper {
	t.Helper()
	cmd := sandbox.Command(t, copyOfThisBinary(t))
	cmd.Dir = "/"
	cmd.Env = append(cmd.Env, helperDir+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	cmd.Stderr = os.Stderr
	stdin, stdinErr := cmd.StdinPipe()
	stdout, stdoutErr := cmd.StdoutPipe()
	assert.NoError(t, errors.Join(stdinErr, stdoutErr, cmd.Start()))
	h := &helper{cmd: cmd, stdin: stdin}
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	assert.NoError(t, errors.Join(err, json.Unmarshal(line, &h.report)), "the other process reports", line)
	t.Logf("the other process: %+v", h.report)
	return h
}

func (h *helper) stop(t *testing.T) {
	t.Helper()
	_ = h.stdin.Close()
	assert.NoError(t, h.cmd.Wait(), "stop in the other process")
}

func (h *helper) kill(t *testing.T) {
	t.Helper()
	assert.NoError(t, h.cmd.Process.Kill())
	_ = h.cmd.Wait()
}

// copyOfThisBinary copies the test binary to where every user may run it.
func copyOfThisBinary(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	assert.NoError(t, err)
	binary, err := os.ReadFile(exe)
	assert.NoError(t, err)
	to := filepath.Join(tempDir(t), "petstore")
	// A process that another test starts meanwhile would inherit the open file, and what is open
	// for writing can't be run (ETXTBSY).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	assert.NoError(t, errors.Join(os.WriteFile(to, binary, 0o755), os.Chmod(to, 0o755)))
	return to
}

// tempDir makes a directory that every user may enter, unlike t.TempDir's.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "petstore-localpg-")
	assert.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	assert.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// begin starts a server that is stopped when the test ends.
func begin(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	assert.NoError(t, err)
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	assert.Equal(t, s.Stop(context.Background()), nil)
}

// query returns the one number of a query's one row, 0 where there is none.
func query(t *testing.T, url, text string) (n int) {
	t.Helper()
	db, err := sql.Open("postgres", url)
	assert.NoError(t, err)
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), text).Scan(&n); err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

// wantNotes counts the notes.
func wantNotes(t *testing.T, url string, want int) {
	t.Helper()
	assert.Equal(t, query(t, url, `select count(*) from notes`), want, "notes")
}
