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
	once sync.Once
	addr string
	err  error

	mu   sync.Mutex
	next int
}

// Shared returns the address of an empty database on the server that all tests of this binary share, which starts with the first
// of them and ends with the binary. The database is emptied when t ends.
func Shared(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		shared.addr = freeport.Address(t)
		_, shared.err = launch(context.Background(), shared.addr)
	})
	if shared.err != nil {
		t.Fatalf("test redis: %v", shared.err)
	}
	shared.mu.Lock()
	db := shared.next
	shared.next++
	shared.mu.Unlock()
	if most, _ := strconv.Atoi(databases); db >= most {
		t.Fatalf("test redis: more than %s tests want a database", databases)
	}
	t.Cleanup(func() {
		client := clientOf(shared.addr, db)
		defer client.Close()
		if err := client.FlushDB(context.Background()).Err(); err != nil {
			t.Errorf("test redis: %v", err)
		}
	})
	return fmt.Sprintf("redis://%s/%d", shared.addr, db)
}
