package freeport_test

import (
	"net"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/freeport"
)

// TestHeld: a server can listen on an address again and again, and nobody else gets its port
// meanwhile.
func TestHeld(t *testing.T) {
	t.Parallel()
	held := map[string]bool{}
	for range 200 {
		addr := freeport.Address(t)
		if held[addr] {
			t.Fatalf("%s was given twice", addr)
		}
		held[addr] = true
		for range 2 {
			if conn, err := net.Dial("tcp", addr); err == nil {
				_ = conn.Close()
				t.Fatalf("something listens on %s", addr)
			}
			server, err := net.Listen("tcp", addr)
			assert.NoError(t, err)
			conn, err := net.Dial("tcp", addr)
			assert.NoError(t, err)
			_, _ = conn.Close(), server.Close()
		}
	}
	for range 2000 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		assert.NoError(t, err)
		if held[l.Addr().String()] {
			t.Fatalf("somebody else got %s", l.Addr())
		}
		_ = l.Close()
	}
}
