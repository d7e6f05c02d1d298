package main

import (
	"net"
	"testing"
)

// TestIsAddr: a socket that listens more widely than the setting, or on another port, is not on its address.
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
		if err != nil {
			t.Fatal(err)
		}
		if got := isAddr(socket, c.addr); got != c.want {
			t.Errorf("socket %s, PETSTORE_ADDR=%s: %v", c.socket, c.addr, got)
		}
	}
}
