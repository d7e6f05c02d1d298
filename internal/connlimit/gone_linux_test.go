package connlimit

import (
	"errors"
	"net"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// TestGone: a client is gone when it has closed its connection, or its half, or was reset, whatever it
// has sent before.
func TestGone(t *testing.T) {
	t.Parallel()
	f := listen(t, Limits{Total: 10})
	for name, leave := range map[string]func(*net.TCPConn) error{
		"closes":          (*net.TCPConn).Close,
		"closes its half": (*net.TCPConn).CloseWrite,
		"is reset": func(c *net.TCPConn) error {
			return errors.Join(c.SetLinger(0), c.Close())
		},
	} {
		client, server := f.open("127.0.0.1")
		assert.True(t, !server.Gone(), name, "is gone before")
		_, err := client.Write([]byte("a request, and the next one"))
		assert.NoError(t, err)
		_, err = server.Read(make([]byte, 1))
		assert.NoError(t, err)
		assert.True(t, !server.Gone(), name, "is gone when it has sent something")
		assert.NoError(t, leave(client.(*net.TCPConn)))
		wait.Until(t, "a client that "+name, server.Gone)
		assert.NoError(t, server.Close())
		assert.True(t, server.Gone(), name, "is there on a closed connection")
	}
}
