package server

import (
	"net"
	"testing"

	"petstore.example/internal/test/assert"
)

// TestIsAddr: a socket that listens more widely than the setting, or on another port, is not on its
// address.
func TestIsAddr(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		socket, addr string
		want         bool
	}{
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{"[::]:8080", ":8080", true},
		{"[::]:8080", "0.0.0.0:8080", true},
		{"[::]:8080", "127.0.0.1:8080", false},
		{"127.0.0.1:8080", ":8080", false},
		{"127.0.0.1:8080", "127.0.0.1:8081", false},
	} {
		socket, err := net.ResolveTCPAddr("tcp", c.socket)
		assert.NoError(t, err)
		assert.Equal(t, isAddr(socket, c.addr), c.want, "socket", c.socket, "PETSTORE_ADDR=", c.addr)
	}
}
