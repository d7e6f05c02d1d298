package e2e_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/pgtest"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

// clockLibrary is below Postgres: it adds the seconds in a file to the wall clock.
const clockLibrary = `
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long *ahead;

__attribute__((constructor)) static void init(void)
{
	ahead = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, open(CLOCK, O_RDONLY), 0);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int status = syscall(SYS_clock_gettime, clock, t);
	if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		t->tv_sec += *ahead;
	return status;
}

int gettimeofday(struct timeval *t, void *zone)
{
	int status = syscall(SYS_gettimeofday, t, zone);
	t->tv_sec += *ahead;
	return status;
}

time_t time(time_t *t)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}
`

// serverWithClock starts a Postgres whose clock set moves by that much from the real time on. Until
// the test ends, the PATH of this process begins with that Postgres, so no other test may run
// beside it.
func serverWithClock(t *testing.T) (server *storetest.PrivateServer, set func(ahead time.Duration)) {
	t.Helper()
	dir, remove, err := pgtest.TempDir(false) // Postgres may run as another user.
	assert.NoError(t, err)
	t.Cleanup(remove)
	write := func(name string, text []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		assert.NoError(t, os.WriteFile(path, text, mode))
		return path
	}
	seconds := func(ahead time.Duration) []byte {
		return binary.NativeEndian.AppendUint64(nil, uint64(ahead/time.Second))
	}
	clock, library := write("clock", seconds(0), 0o644), filepath.Join(dir, "clock.so")
	cc := sandbox.Command(t, "cc", "-shared", "-fPIC", fmt.Sprintf("-DCLOCK=%q", clock), "-o", library, "-x", "c", "-")
	cc.Stdin = strings.NewReader(clockLibrary)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	original := storetest.Program(t, "postgres")
	write("postgres", fmt.Appendf(nil, "#!/bin/sh\nLD_PRELOAD=%s exec %s \"$@\"\n", library, original), 0o755)
	initdb, err := exec.LookPath(filepath.Join(filepath.Dir(original), "initdb"))
	if err == nil {
		err = os.Symlink(initdb, filepath.Join(dir, "initdb"))
	}
	assert.NoError(t, err)
	path := os.Getenv("PATH")
	t.Cleanup(func() { _ = os.Setenv("PATH", path) })
	if err := os.Setenv(
		"PATH",
		dir+":"+path,
	); err != nil { //nolint:usetesting // Its parent is parallel to nothing in the long form.
		t.Fatal(err)
	}
	return storetest.NewServer(t), func(ahead time.Duration) {
		file, err := os.OpenFile(clock, os.O_WRONLY, 0)
		if err == nil {
			_, err = file.WriteAt(seconds(ahead), 0)
			_ = file.Close()
		}
		assert.Equal(t, err, nil)
	}
}
