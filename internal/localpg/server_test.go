//go:build unix

package localpg

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

const (
	oneNote  = `create table notes (n int); insert into notes values (1)`
	nextNote = `insert into notes values (2)`
)

func TestRestartKeepsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "new", ".petstore")
	s := begin(t, Options{Dir: dir})
	url := s.URL("postgres", "postgres")
	query(t, url, oneNote)
	stop(t, s)
	select {
	case <-s.Done():
	default:
		t.Error("Done is open after Stop")
	}
	assert.True(t, allEnded(t, s.dir.dir), "processes are left")
	info, err := os.Stat(s.dir.socketDir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's directory: %v, %v", info.Mode(), err)
	}

	s = begin(t, Options{Dir: dir})
	assert.Equal(t, s.URL("postgres", "postgres"), url, "the address changed from")
	wantNotes(t, url, 1)
}

func TestKillOfParent(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	h := startHelper(t, dir, nil)
	query(t, h.URL, oneNote)
	h.kill(t)

	wait.Until(t, "the orphaned server to end", func() bool { return allEnded(t, dir) })

	h = startHelper(t, dir, nil)
	query(t, h.URL, nextNote)
	h.kill(t) // the next start follows immediately
	s := begin(t, Options{Dir: dir})
	wantNotes(t, s.URL("postgres", "postgres"), 2)
}

func TestKillOfServer(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	s := begin(t, Options{Dir: dir})
	query(t, s.URL("postgres", "postgres"), oneNote)
	assert.NoError(t, syscall.Kill(s.PID(), syscall.SIGKILL))
	<-s.Done()
	err := s.Err()
	assert.True(t, strings.Contains(err.Error(), "killed"), "Err says", err)
	stop(t, s)
	s = begin(t, Options{Dir: dir}) // its orphans are still ending
	wantNotes(t, s.URL("postgres", "postgres"), 1)
}

func TestServerOfDeadProcessIsReplaced(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	s := begin(t, Options{Dir: dir})
	query(t, s.URL("postgres", "postgres"), oneNote)
	s.dir.unlock() // as if this process had died without its server
	next := begin(t, Options{Dir: dir})
	<-s.Done()
	wantNotes(t, next.URL("postgres", "postgres"), 1)
}

func TestStalePIDFileNamesAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	s := begin(t, Options{Dir: dir})
	assert.NoError(t, syscall.Kill(s.PID(), syscall.SIGKILL))
	<-s.Done()
	stop(t, s)
	file := filepath.Join(s.dir.pgdata(), "postmaster.pid")
	text, err := os.ReadFile(file)
	assert.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "\n")
	assert.NoError(t, os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())+"\n"+rest), 0o600))
	begin(t, Options{Dir: dir})
}

func TestDirInUse(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	h := startHelper(t, dir, nil)
	_, err := Start(t.Context(), Options{Dir: filepath.Join(dir, "..", filepath.Base(dir))})
	want := fmt.Sprintf("start PostgreSQL: another petstore dev (pid %d) is using %s", h.cmd.Process.Pid, dir)
	if err == nil || err.Error() != want {
		t.Errorf("second start: %v, want %v", err, want)
	}
}

// TestFailedStartSaysWhy: in one line, that the data are of another version, or what the server's
// log says.
func TestFailedStartSaysWhy(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct{ holds, says string }{
		"PG_VERSION":           {"9\n", "DIR holds data of PostgreSQL 9, but PostgreSQL "},
		"postgresql.auto.conf": {"shared_buffers = 'plenty'\n", `invalid value for parameter "shared_buffers"`},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			s := begin(t, Options{Dir: dir})
			stop(t, s)
			assert.NoError(t, os.WriteFile(filepath.Join(s.dir.pgdata(), file), []byte(c.holds), 0o600))
			_, err := Start(t.Context(), Options{Dir: dir})
			want := strings.ReplaceAll(c.says, "DIR", s.dir.path)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %s", err, want)
			}
		})
	}
}

func TestInterruptedInitDB(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	leftover := filepath.Join(dir, "postgres", "data.new-1", "base")
	assert.NoError(t, os.MkdirAll(leftover, 0o700))
	begin(t, Options{Dir: dir})
	_, err := os.Stat(leftover)
	assert.ErrorIs(t, err, os.ErrNotExist, leftover, "is left")
}

func TestLongPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), strings.Repeat("long", 30), "Mañana & more?")
	for range 2 {
		s := begin(t, Options{Dir: dir})
		query(t, s.URL("postgres", "postgres"), `select 1`)
		stop(t, s)
		_, err := os.Stat(s.dir.socketDir)
		assert.ErrorIs(t, err, os.ErrNotExist, s.dir.socketDir, "is left")
	}
}

func TestCancelledStart(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Start(ctx, Options{Dir: dir})
	assert.ErrorIs(t, err, context.Canceled)
	begin(t, Options{Dir: dir})
}

func TestUsefulLines(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ log, want string }{
		"fatal line": {
			"LOG:  starting\n2026-11-20 11:03:40.459 UTC [30763] LOG:  room 7\n2026-11-20 11:03:40.459 UTC [30763] " +
				"FATAL:  no room\nHINT:  make room\n",
			"LOG:  room 7; FATAL:  no room; HINT:  make room",
		},
		"only the last":  {"a\nb\nc\nd\ne\n", "b; c; d; e"},
		"nothing at all": {"", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.DeepEqual(t, usefulLines(test.log), test.want)
		})
	}
}

// allEnded reports whether no process of a server has the log.
func allEnded(t *testing.T, dir string) bool {
	t.Helper()
	log, err := os.Open(filepath.Join(dir, logName))
	assert.NoError(t, err)
	defer log.Close()
	return flock(log) == nil
}

func withLog(o Options) (Options, *bytes.Buffer) {
	var log bytes.Buffer
	o.Log = &log
	return o, &log
}
