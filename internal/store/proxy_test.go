package store_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// breakage is what a breakingProxy does at the chosen round trip.
type breakage int

const (
	// cutRequest: the connection ends before the database gets the request.
	cutRequest breakage = iota
	// cutAnswer: the connection ends after the database did the work, and the reply is lost.
	cutAnswer
	// stall: nothing passes any more, and the database sees no end of the connection, as if the
	// program's machine was paused.
	stall
)

// breakingProxy is a proxy before Postgres. It breaks one round trip, which breakAt chooses.
type breakingProxy struct {
	url string

	mu      sync.Mutex
	how     breakage
	left    int // round trips up to the broken one; 0 for none to break
	stalled bool
}

func newBreakingProxy(t *testing.T, databaseURL string) *breakingProxy {
	t.Helper()
	p := &breakingProxy{}
	p.url = storetest.ProxyURL(t, databaseURL, p.relay)
	return p
}

// breakAt breaks the n-th round trip from now on.
func (p *breakingProxy) breakAt(n int, how breakage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.how = n, how
}

// broke reports whether the chosen round trip has come, and chooses none.
func (p *breakingProxy) broke() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	came := p.left == 0
	p.left = 0
	return came
}

// count returns how many round trips the call takes once its statements are prepared.
func (p *breakingProxy) count(t *testing.T, call func() error) int {
	t.Helper()
	const far = 1_000_000 // so far away that nothing is broken
	for range 2 {
		p.breakAt(far, cutAnswer)
		assert.NoError(t, call())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return far - p.left
}

// next counts a round trip, and returns whether and how to break it.
func (p *breakingProxy) next() (how breakage, broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		return 0, false
	}
	p.left--
	p.stalled = p.left == 0 && p.how == stall
	return p.how, p.left == 0
}

// isStalled reports whether nothing passes any more.
func (p *breakingProxy) isStalled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stalled
}

// relay carries one round trip after the other: lib/pq does not send a request before the last one
// is answered.
func (p *breakingProxy) relay(client, server net.Conn) {
	stalled := p.isStalled()
	for read := readStartup; !stalled; read = readTrip {
		trip, err := read(client)
		if err != nil {
			break
		}
		how, broken := breakage(0), false
		if trip[0] != 0 { // the startup has no type, and is no round trip to break
			how, broken = p.next()
		}
		if broken && how == stall {
			stalled = true
			break
		}
		if broken && how == cutRequest || carry(client, server, trip, broken) != nil {
			break
		}
	}
	if stalled {
		_, _ = io.Copy(io.Discard, client)
	} else {
		_ = server.Close()
	}
	_ = client.Close()
}

// carry sends a request to the server, and its reply up to "ready for query" to the client unless
// it is to be lost.
func carry(client, server net.Conn, trip []byte, lose bool) error {
	if _, err := server.Write(trip); err != nil {
		return err
	}
	for {
		message, err := readMessage(server)
		if err != nil {
			return err
		}
		if !lose {
			if _, err := client.Write(message); err != nil {
				return err
			}
		}
		if message[0] == 'Z' {
			if lose {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
	}
}

// readStartup reads the first message, which is a length and the rest.
func readStartup(r io.Reader) ([]byte, error) {
	message := make([]byte, 4)
	if _, err := io.ReadFull(r, message); err != nil {
		return nil, err
	}
	message = append(message, make([]byte, binary.BigEndian.Uint32(message)-4)...)
	_, err := io.ReadFull(r, message[4:])
	return message, err
}

// readTrip reads messages up to the one that asks for a reply.
func readTrip(r io.Reader) (trip []byte, err error) {
	for {
		message, err := readMessage(r)
		if err != nil {
			return nil, err
		}
		switch trip = append(trip, message...); message[0] {
		case 'S', 'Q', 'X': // sync, query, terminate
			return trip, nil
		}
	}
}

// readMessage reads one message: a type, a length that counts itself, and the rest.
func readMessage(r io.Reader) ([]byte, error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	message := make([]byte, 1+binary.BigEndian.Uint32(head[1:]))
	copy(message, head)
	_, err := io.ReadFull(r, message[5:])
	return message, err
}
