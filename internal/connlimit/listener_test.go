package connlimit

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// fixture is a listener, and what it has accepted.
type fixture struct {
	*Listener
	t        *testing.T
	accepted chan *Conn
}

func listen(t *testing.T, limits Limits) *fixture {
	t.Helper()
	on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	f := &fixture{Listener: Wrap(on, limits), t: t, accepted: make(chan *Conn, 100)}
	go func() {
		defer close(f.accepted)
		for {
			c, err := f.Accept()
			if err != nil {
				return
			}
			f.accepted <- c.(*Conn)
		}
	}()
	t.Cleanup(func() {
		_ = f.Close()
		for c := range f.accepted {
			_ = c.Close()
		}
	})
	return f
}

// dial connects from an address and does not wait until the connection is accepted.
func (f *fixture) dial(from string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return d.DialContext(f.t.Context(), "tcp", f.Addr().String())
}

// open connects from an address, and returns both ends.
func (f *fixture) open(from string) (client net.Conn, server *Conn) {
	f.t.Helper()
	client, err := f.dial(from)
	assert.NoError(f.t, err)
	f.t.Cleanup(func() { _ = client.Close() })
	select {
	case server = <-f.accepted:
	case <-time.After(late):
		f.t.Fatal("the connection was not accepted")
	}
	f.t.Cleanup(func() { _ = server.Close() })
	return client, server
}

// ended returns how a connection ended for its client, nil if it is open.
func ended(t *testing.T, client net.Conn, within time.Duration) error {
	t.Helper()
	assert.NoError(t, client.SetReadDeadline(time.Now().Add(within)))
	_, err := client.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

const (
	soon = 20 * time.Millisecond
	late = time.Minute
)

func (f *fixture) wantStats(want Stats) {
	f.t.Helper()
	assert.DeepEqual(f.t, f.Stats(), want)
}

func stats(authenticated, unauthenticated int64, more func(*Stats)) Stats {
	s := Stats{
		Authenticated: authenticated, Unauthenticated: unauthenticated,
		Refused: map[Reason]int64{TotalReached: 0, AddressReached: 0},
		Closed:  map[Reason]int64{TotalReached: 0, AddressReached: 0, Idle: 0, Unsent: 0},
	}
	if more != nil {
		more(&s)
	}
	return s
}

// TestTotal: a new connection takes the place of the unauthenticated one that has been idle
// longest.
func TestTotal(t *testing.T) {
	t.Parallel()
	f := listen(t, Limits{Total: 3})
	known, own := f.open("127.0.0.1")
	own.SetAuthenticated(1)
	first, _ := f.open("127.0.0.1")
	second, secondOwn := f.open("127.0.0.2")
	f.clock.Store(int64(time.Since(f.start)))
	_, err := second.Write([]byte("x"))
	assert.NoError(t, err)
	_, err = secondOwn.Write([]byte("x"))
	assert.NoError(t, err)
	third, _ := f.open("127.0.0.1")
	assert.ErrorIs(t, ended(t, first, late), io.EOF, "the connection that was idle longest")
	f.open("127.0.0.1")
	for range 20 {
		f.open("127.0.0.3")
	}
	assert.ErrorIs(t, ended(t, third, late), io.EOF, "the connection that was idle longest")
	assert.Equal(t, ended(t, known, soon), nil, "the authenticated connection")
	f.wantStats(stats(1, 2, func(s *Stats) { s.Closed[TotalReached] = 22 }))
}

// TestAllAuthenticated: in favour of a new connection one is closed that has been idle for 10
// seconds, and none that is used.
func TestAllAuthenticated(t *testing.T) {
	t.Parallel()
	f := listen(t, Limits{Total: 2})
	used, usedOwn := f.open("127.0.0.1")
	idle, idleOwn := f.open("127.0.0.1")
	usedOwn.SetAuthenticated(1)
	idleOwn.SetAuthenticated(2)
	refused, err := f.dial("127.0.0.1")
	if err == nil {
		err = ended(t, refused, late)
		_ = refused.Close()
	}
	assert.ErrorIs(t, err, syscall.ECONNRESET, "the new connection")
	for _, c := range []*Conn{usedOwn, idleOwn} { // 10 seconds pass.
		c.used.Add(-int64(minIdle))
	}
	f.clock.Store(int64(time.Since(f.start)))
	_, err = used.Write([]byte("x"))
	assert.NoError(t, err)
	_, err = usedOwn.Read(make([]byte, 1))
	assert.NoError(t, err)
	f.open("127.0.0.1")
	assert.ErrorIs(t, ended(t, idle, late), io.EOF, "the idle connection")
	assert.Equal(t, ended(t, used, soon), nil, "the used connection")
	f.wantStats(stats(1, 1, func(s *Stats) { s.Refused[TotalReached], s.Closed[TotalReached] = 1, 1 }))
}

// TestTenantShare: one tenant's key authenticates a quarter of all connections, so that its
// connections never keep out the others'.
func TestTenantShare(t *testing.T) {
	t.Parallel()
	f := listen(t, Limits{Total: 8})
	var own []*Conn
	for range 8 {
		_, c := f.open("127.0.0.1")
		c.SetAuthenticated(1)
		own = append(own, c)
	}
	f.wantStats(stats(2, 6, nil))
	other, otherOwn := f.open("127.0.0.2")
	otherOwn.SetAuthenticated(2)
	for range 10 {
		_, c := f.open("127.0.0.1")
		c.SetAuthenticated(1)
	}
	assert.Equal(t, ended(t, other, soon), nil, "another tenant's connection")
	f.wantStats(stats(3, 5, func(s *Stats) { s.Closed[TotalReached] = 11 }))
	assert.NoError(t, own[0].Close())
	_, c := f.open("127.0.0.1")
	c.SetAuthenticated(1)
	c.SetAuthenticated(1)
	f.wantStats(stats(3, 5, func(s *Stats) { s.Closed[TotalReached] = 11 }))
}

// TestPerAddress: an address that has reached its bound costs no other address a connection.
func TestPerAddress(t *testing.T) {
	t.Parallel()
	f := listen(t, Limits{Total: 10, PerAddress: 2, Trusted: []netip.Prefix{netip.MustParsePrefix("127.9.0.0/16")}})
	first, _ := f.open("127.0.0.1")
	other, _ := f.open("127.0.0.2")
	for range 5 {
		f.open("127.9.0.1")
	}
	f.open("127.0.0.1")
	third, thirdOwn := f.open("127.0.0.1")
	assert.ErrorIs(t, ended(t, first, late), io.EOF, "the address's first connection")
	assert.Equal(t, ended(t, other, soon), nil, "another address's connection")
	f.wantStats(stats(5, 3, func(s *Stats) { s.Closed[AddressReached] = 1 }))
	thirdOwn.SetAuthenticated(1)
	f.open("127.0.0.1")
	assert.Equal(t, ended(t, third, soon), nil, "the address's authenticated connection")
}

// TestIdle: an unauthenticated connection may be idle only so long. A client that reads slowly gets
// all of its response, one that stops is reset.
func TestIdle(t *testing.T) {
	t.Parallel()
	f := listen(t, Limits{Total: 10, IdleTimeout: 2 * time.Second})
	silent, _ := f.open("127.0.0.1")
	known, knownOwn := f.open("127.0.0.1")
	knownOwn.SetAuthenticated(1)
	slow, slowOwn := f.open("127.0.0.1")
	stalled, stalledOwn := f.open("127.0.0.1")
	const length = 32 << 20 // more than the kernel takes
	slowWritten, stalledWritten := make(chan int, 1), make(chan int, 1)
	for own, written := range map[*Conn]chan int{slowOwn: slowWritten, stalledOwn: stalledWritten} {
		assert.NoError(t, own.Conn.(*net.TCPConn).SetWriteBuffer(64<<10))
		go func() {
			n, _ := own.Write(make([]byte, length))
			written <- n
		}()
	}
	read := make(chan int64)
	go func() {
		var n int64
		for err := error(nil); err == nil && n < length; n += 64 << 10 {
			_, err = io.CopyN(io.Discard, slow, 64<<10)
			time.Sleep(8 * time.Millisecond) // It takes 4 seconds, longer than a connection may be idle.
		}
		read <- n
	}()
	assert.ErrorIs(t, ended(t, silent, late), io.EOF, "the silent connection")
	time.Sleep(2 * tick) // two rounds in which nothing may be closed
	assert.Equal(t, ended(t, known, soon), nil, "the authenticated connection")
	f.wantStats(stats(1, 1, func(s *Stats) { s.Closed[Idle] = 2 }))
	if n := <-stalledWritten; n == length {
		t.Error("the stalled client got all")
	}
	_, err := io.Copy(io.Discard, stalled)
	assert.ErrorIs(t, err, syscall.ECONNRESET, "the stalled client's connection")
	if n, got := <-slowWritten, <-read; n != length || got != length {
		t.Errorf("the slow client got %d and %d bytes of %d", n, got, length)
	}
}

// TestUnsent: beyond a bound, clients without a key that do not read are reset: those that leave
// most. Those who read lose nothing.
func TestUnsent(t *testing.T) {
	t.Parallel()
	const bound = 4 << 20
	for name, from := range map[string]func(i int) string{
		"one address": func(int) string { return "127.0.0.1" },
		"all":         func(i int) string { return "127.0.1." + strconv.Itoa(1+i) },
	} {
		f := listen(t, Limits{Total: 1000, PerAddress: 1000, Unsent: bound})
		most := int64(bound)
		if name == "one address" {
			most /= unsentShares
		}
		reader, readerOwn := f.open("127.0.0.1")
		known, knownOwn := f.open("127.0.0.1")
		knownOwn.SetAuthenticated(1)
		_, other := f.open("127.0.0.2")
		written := make(chan struct{}, 200)
		write := func(c *Conn, n int) { _, _ = c.Write(make([]byte, n)) }
		for i := range cap(written) {
			_, c := f.open(from(i))
			go func() {
				write(c, 4<<10)
				written <- struct{}{}
				write(c, 1<<20)
			}()
		}
		for range cap(written) {
			<-written
		}
		write(other, 1)
		write(knownOwn, 64<<10)
		for range 300 {
			write(readerOwn, 16<<10)
			_, err := io.CopyN(io.Discard, reader, 16<<10)
			assert.NoError(t, err, name, "the client that reads")
		}
		_, err := io.CopyN(io.Discard, known, 64<<10)
		assert.Equal(t, err, nil, name, "the client with a key")
		wait.Until(t, name+": little is unread", func() bool {
			var sum int64
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, c := range f.all.conns {
				sum += c.unsent()
			}
			return sum <= most && f.closed[Unsent] > 0 && other.open
		}, f.Stats)
	}
}

// TestNothingIsLeft: whatever happens to connections at the same time, none is counted that is
// closed.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	f := listen(t, Limits{Total: 8, PerAddress: 3, IdleTimeout: time.Nanosecond})
	served := make(chan struct{})
	go func() {
		defer close(served)
		var wg sync.WaitGroup
		for c := range f.accepted {
			wg.Go(func() {
				b := make([]byte, 1)
				if _, err := c.Read(b); err == nil && b[0] == 'k' {
					c.SetAuthenticated(rand.Int64N(4) + 1)
				}
				_, _ = c.Write(b)
				_, _ = c.Read(b)
				_ = c.Close()
				_ = c.Close()
			})
		}
		wg.Wait()
	}()
	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() {
			for range 50 {
				c, err := f.dial("127.0.0." + strconv.Itoa(1+i%5))
				if errors.Is(err, syscall.ECONNRESET) {
					continue // It was refused.
				}
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = c.Write([]byte{"ks"[rand.N(2)]})
				_, _ = c.Read(make([]byte, 1))
				_ = c.Close()
				if s := f.Stats(); s.Authenticated+s.Unauthenticated > 8 {
					t.Errorf("%d connections are open", s.Authenticated+s.Unauthenticated)
				}
			}
		})
	}
	clients.Wait()
	_ = f.Close()
	<-served
	if s := f.Stats(); s.Authenticated+s.Unauthenticated != 0 || len(f.addresses) != 0 || len(f.tenants) != 0 {
		t.Errorf(
			"%d connections, %d addresses and %d tenants are left",
			s.Authenticated+s.Unauthenticated,
			len(f.addresses),
			len(f.tenants),
		)
	}
}

// conn is a connection from an address.
type conn struct {
	net.Conn
	from net.Addr
}

func (c conn) RemoteAddr() net.Addr { return c.from }

func TestAddressOf(t *testing.T) {
	t.Parallel()
	l := &Listener{
		limits: Limits{
			PerAddress: 1,
			Trusted:    []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:f::/48")},
		},
	}
	for from, want := range map[string]string{
		"192.0.2.1":         "192.0.2.1/32",
		"::ffff:192.0.2.1":  "192.0.2.1/32",
		"2001:db8:1:2:3::4": "2001:db8:1:2::/64",
		"fe80::1%eth0":      "fe80::/64",
		"10.1.2.3":          "trusted",
		"::ffff:10.1.2.3":   "trusted",
		"2001:db8:f:1::1":   "trusted",
	} {
		addr := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 1))
		network, trusted := l.addressOf(conn{from: addr})
		got := network.String()
		if trusted {
			got = "trusted"
		}
		assert.Equal(t, got, want, from, "counts for")
	}
	if got, trusted := l.addressOf(conn{from: &net.UnixAddr{}}); got.IsValid() || trusted {
		t.Errorf("a connection without an address counts for %v, trusted %v", got, trusted)
	}
}
