package httpfast

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// late is how much later than it should a connection may end on a busy machine.
const late = 5 * time.Second

// TestDeadlines: a deadline that was moved away or taken back does not end anything, one that is near is exact, and one
// that is over ends a read at once.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	plain, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newListener(plain)
	defer func() { _ = l.Close() }()
	client := dial(t, plain.Addr().String())
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	read := func(within time.Duration, want error) {
		t.Helper()
		start := time.Now()
		_, err := c.Read(make([]byte, 1))
		if took := time.Since(start); !errors.Is(err, want) || took > within {
			t.Errorf("%v after %v, want %v within %v", err, took, want, within)
		}
	}
	set := func(at time.Time) {
		t.Helper()
		if err := c.SetReadDeadline(at); err != nil {
			t.Fatal(err)
		}
	}
	set(time.Now().Add(50 * time.Millisecond))
	read(sweepEvery, os.ErrDeadlineExceeded)
	read(sweepEvery, os.ErrDeadlineExceeded)
	set(time.Unix(1, 0))
	read(sweepEvery, os.ErrDeadlineExceeded)
	// Once over and swept, it can still be moved.
	set(time.Now().Add(5 * sweepEvery))
	read(5*sweepEvery+late, os.ErrDeadlineExceeded)
	set(time.Time{})
	time.AfterFunc(3*sweepEvery, func() { _, _ = client.Write([]byte("x")) })
	read(3*sweepEvery+late, nil)
	// A read that waits already is ended, by another goroutine.
	time.AfterFunc(50*time.Millisecond, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	read(late, os.ErrDeadlineExceeded)
}
