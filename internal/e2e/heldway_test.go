package e2e_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// heldWay is a proxy before Postgres that holds up what programs send, and passes it on when it is
// let go: also when the program has closed its connection meanwhile.
type heldWay struct {
	// gate is closed while messages are held.
	gate
	// holds says which messages wait at the gate, with all that follow them on their connection.
	holds atomic.Pointer[func(message []byte) bool]
	// closed counts the connections that a program has closed, done those of them that Postgres has
	// ended since: it has done what it was sent.
	closed, done atomic.Int64
}

// hold holds messages up from now on. It returns what lets them go.
func (w *heldWay) hold(which func(message []byte) bool) (release func()) {
	w.holds.Store(&which)
	w.Lock()
	return w.Unlock
}

// everything and syncs are what can be held.
func everything([]byte) bool     { return true }
func syncs(message []byte) bool  { return message[0] == 'S' }
func (w *heldWay) settled() bool { return w.closed.Load() == w.done.Load() }
func (w *heldWay) isHeld(m []byte) bool {
	which := w.holds.Load()
	return which != nil && (*which)(m)
}

func (w *heldWay) relay(client, server net.Conn) {
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	messages := make(chan []byte, 1024) // more than any connection sends while it is held
	both.Go(func() {
		for m := range messages {
			if w.isHeld(m) {
				w.RLock()
				w.RUnlock() //nolint:staticcheck // It waits until the gate is open.
			}
			if _, err := server.Write(m); err != nil {
				_ = server.Close()
			}
		}
		_ = server.(interface{ CloseWrite() error }).CloseWrite()
	})
	from := bufio.NewReader(client)
	for head := 4; ; head = 5 { // The first message has no type.
		m, err := readMessage(from, head)
		if err != nil {
			break
		}
		messages <- m
	}
	w.closed.Add(1)
	close(messages)
	both.Wait()
	_ = server.Close()
	w.done.Add(1)
}

// readMessage reads a message of the protocol of Postgres, whose length is the last four of its
// first bytes.
func readMessage(from io.Reader, head int) ([]byte, error) {
	m := make([]byte, head)
	if _, err := io.ReadFull(from, m); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(m[head-4:]))
	if length < 4 || length > 1<<20 {
		return nil, errors.New("not a message")
	}
	m = append(m, make([]byte, length-4)...)
	_, err := io.ReadFull(from, m[head:])
	return m, err
}
