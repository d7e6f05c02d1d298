package server

import (
	"bytes"
	"io"
	"net"

	"petstore.example/internal/api"
)

// maxOwn is longer than net/http's own answers and shorter than the API's, in bytes.
const maxOwn = 256

// isOwn reports whether p is net/http's own answer to something that it can't read as a request:
// one write, with a status of 400 or more, that closes the connection. refuseLongHeads answers in
// the same form.
func isOwn(p []byte) bool {
	const start = len("HTTP/1.1 ")
	return len(p) > start && len(p) <= maxOwn && bytes.HasPrefix(p, []byte("HTTP/1.")) && p[start] >= '4' &&
		bytes.Contains(p, []byte("\r\nConnection: close\r\n"))
}

// malformedListener replaces net/http's own answers by the API's. For example, /v1/pets/%zz is not
// a URL and reaches no handler. TestMalformedRequest notices when net/http writes another text. The
// listener also answers TLS on the port of HTTP.
type malformedListener struct {
	net.Listener
	*api.Malformed
}

// Accept implements net.Listener.
func (l *malformedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &malformedConn{TCPConn: c.(*net.TCPConn), listener: l}, nil
}

// malformedConn is a *net.TCPConn, because connlimit asks the kernel about it.
type malformedConn struct {
	*net.TCPConn
	listener *malformedListener
	begun    bool
}

// recordTypeHandshake is the first byte of a TLS connection. No HTTP request begins with it.
const recordTypeHandshake = 0x16

// Read implements net.Conn. It answers a client that begins TLS, and then reports the end of its
// requests: net/http would wait for the end of a line.
func (c *malformedConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	if c.begun || n == 0 {
		return n, err
	}
	if c.begun = true; p[0] != recordTypeHandshake {
		return n, err
	}
	if _, err := c.TCPConn.Write(c.listener.TLS(c.RemoteAddr())); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

// Write implements net.Conn.
func (c *malformedConn) Write(p []byte) (int, error) {
	if !isOwn(p) {
		return c.TCPConn.Write(p)
	}
	if _, err := c.TCPConn.Write(c.listener.Replace(c.RemoteAddr(), p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
