package redistest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"

	"petstore.example/internal/test/freeport"
)

// Variable names the server, as host:port, that the test binaries of one run share.
const Variable = "PETSTORE_TEST_REDIS"

// databases is the number of databases of the shared server. Database 0 counts those handed out;
// each of the others is for one test of the run.
const (
	databases = 16384
	counter   = "databases given away"
)

var shared struct {
	mu   sync.Mutex
	addr string // "" before the first test
}

// Shared returns the address of an empty database on the server that Variable names. Without
// Variable, the first test of this binary starts a server, which all its tests share and which ends
// with the binary. The database is emptied when t ends.
func Shared(t testing.TB) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.addr == "" {
		if shared.addr = os.Getenv(Variable); shared.addr == "" {
			shared.addr = freeport.Address(t)
			launch(t, shared.addr, "--databases", fmt.Sprint(databases))
		}
	}
	addr := shared.addr
	client := clientOf(addr, 0)
	defer client.Close()
	db, err := client.Incr(t.Context(), counter).Result()
	if err != nil || db >= databases {
		t.Fatalf("test redis: database %d of %d: %v", db, databases, err)
	}
	t.Cleanup(func() {
		client := clientOf(addr, int(db))
		defer client.Close()
		if err := client.FlushDB(context.Background()).Err(); err != nil {
			t.Errorf("test redis: %v", err)
		}
	})
	return fmt.Sprintf("redis://%s/%d", addr, db)
}

// StartShared starts a server for several test binaries, and returns the value of Variable for them.
func StartShared() (value string, stop func() error, err error) {
	addr, release, err := freeport.Hold()
	if err != nil {
		return "", nil, err
	}
	log, err := os.CreateTemp("", "redis-*.log")
	if err != nil {
		release()
		return "", nil, err
	}
	defer log.Close()
	defer os.Remove(log.Name())
	process, err := start(addr, log, "--databases", fmt.Sprint(databases))
	if err != nil {
		release()
		return "", nil, err
	}
	stop = func() error {
		defer release()
		return process.Stop(context.Background(), hangTimeout, syscall.SIGKILL)
	}
	for ctx := context.Background(); !isServer(ctx, addr, process.PID()); {
		select {
		case <-process.Done():
			text, _ := os.ReadFile(log.Name())
			return "", nil, fmt.Errorf("redis-server ended: %w: %s", process.Err(), text)
		default:
		}
	}
	return addr, stop, nil
}
