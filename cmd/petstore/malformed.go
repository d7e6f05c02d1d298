package main

import (
	"bytes"
	"io"
	"net"
)

// net/http answers what it can't read as a request by itself, in one write that begins so and has that type. Its first line may also say what is wrong.
var (
	plainStart = []byte("HTTP/1.1 400 Bad Request")
	plainType  = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
)

// maxPlain is longer than such an answer, in bytes, and shorter than any of the API's.
const maxPlain = 256

// malformedListener replaces net/http's answer to a malformed request by one of the API's form: /v1/pets/%zz is no URL, and reaches no
// handler. TestMalformedRequest notices when net/http writes another text. It also answers TLS on the port of HTTP.
type malformedListener struct {
	net.Listener
	answer, toTLS []byte
}

// Accept implements net.Listener.
func (l *malformedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &malformedConn{Conn: c, listener: l}, nil
}

type malformedConn struct {
	net.Conn
	listener *malformedListener
	begun    bool
}

// recordTypeHandshake is how TLS begins, and no request does.
const recordTypeHandshake = 0x16

// Read implements net.Conn. It answers a client that begins TLS, and reports the end of its requests: net/http would wait for the end of a line.
func (c *malformedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.begun || n == 0 {
		return n, err
	}
	if c.begun = true; p[0] != recordTypeHandshake {
		return n, err
	}
	if _, err := c.Conn.Write(c.listener.toTLS); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

// Write implements net.Conn.
func (c *malformedConn) Write(p []byte) (int, error) {
	if len(p) > maxPlain || !bytes.HasPrefix(p, plainStart) || !bytes.Contains(p, plainType) {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(c.listener.answer); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite is what net/http calls when it ends a connection whose client still sends.
func (c *malformedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SetLinger is what connlimit calls to reset a connection.
func (c *malformedConn) SetLinger(seconds int) error {
	if tcp, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
		return tcp.SetLinger(seconds)
	}
	return nil
}
