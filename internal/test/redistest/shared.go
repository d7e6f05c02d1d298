package redistest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"petstore.example/internal/test/freeport"
)

// databases is how many tests of one binary can have a database of the shared server.
const databases = "4096"

var shared struct {
	mu   sync.Mutex
	addr string // "" before the first test
	next int
}

// Shared returns the address of an empty database on the server that all tests of this binary
// share, which starts with the first of them and ends with the binary. The database is emptied when
// t ends.
func Shared(t testing.TB) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.addr == "" {
		addr := freeport.Address(t)
		launch(t, addr, "--databases", databases)
		shared.addr = addr
	}
	addr, db := shared.addr, shared.next
	shared.next++
	if most, _ := strconv.Atoi(databases); db >= most {
		t.Fatalf("test redis: more than %s tests want a database", databases)
	}
	t.Cleanup(func() {
		client := clientOf(addr, db)
		defer client.Close()
		if err := client.FlushDB(context.Background()).Err(); err != nil {
			t.Errorf("test redis: %v", err)
		}
	})
	return fmt.Sprintf("redis://%s/%d", addr, db)
}
