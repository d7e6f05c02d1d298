package mutants

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Listener records what clients send to it. As Postgres may, it accepts a connection without TLS,
// asks for the password in plain text, and refuses it.
type Listener struct {
	Addr string

	mu sync.Mutex
	// passwords are the texts sent as passwords, others all other texts.
	passwords, others bytes.Buffer
	dials             int
}

// Listen listens on this machine until the test ends.
func Listen(t testing.TB) *Listener {
	t.Helper()
	listening, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listening.Close() })
	l := &Listener{Addr: listening.Addr().String()}
	go func() {
		for {
			conn, err := listening.Accept()
			if err != nil {
				return
			}
			go l.serve(conn)
		}
	}()
	return l
}

// Recorded returns what was sent since its last call: the passwords, all other texts, and the
// number of connections.
func (l *Listener) Recorded() (passwords, others string, dials int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	passwords, others, dials = l.passwords.String(), l.others.String(), l.dials
	l.passwords.Reset()
	l.others.Reset()
	l.dials = 0
	return passwords, others, dials
}

const (
	tlsRequest = 80877103
	gssRequest = 80877104
)

func (l *Listener) serve(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // After this a silent client is disconnected.
	l.mu.Lock()
	l.dials++
	l.mu.Unlock()
	for {
		first, err := l.read(conn, &l.others)
		if err != nil || len(first) < 4 {
			return
		}
		if code := binary.BigEndian.Uint32(first); len(first) > 4 || code != tlsRequest && code != gssRequest {
			break
		}
		_, _ = conn.Write([]byte("N"))
	}
	_, _ = conn.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3})
	kind := make([]byte, 1)
	if _, err := io.ReadFull(conn, kind); err != nil {
		return
	}
	to := &l.others
	if kind[0] == 'p' {
		to = &l.passwords
	}
	if _, err := l.read(conn, to); err != nil {
		return
	}
	fields := "SFATAL\x00VFATAL\x00C28P01\x00Mpassword authentication failed\x00\x00"
	_, _ = conn.Write(append([]byte{'E', 0, 0, 0, byte(len(fields) + 4)}, fields...))
}

// read reads a message after its length, and records it.
func (l *Listener) read(conn net.Conn, to *bytes.Buffer) ([]byte, error) {
	var length uint32
	if err := binary.Read(conn, binary.BigEndian, &length); err != nil {
		return nil, err
	}
	message := make([]byte, max(4, min(length, 1<<16))-4)
	n, err := io.ReadFull(conn, message)
	l.mu.Lock()
	defer l.mu.Unlock()
	to.Write(message[:n])
	return message, err
}
