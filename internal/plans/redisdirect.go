package plans

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// inUse is how long after an answer a connection is taken to be open still. Later go-redis looks whether it is before it is used:
// servers and networks drop idle ones.
const inUse = 20 * time.Millisecond

// direct runs take.lua on one connection, one call at a time. go-redis opens it, says who we are, finds out whom it reaches, looks after
// it when it was idle, and closes it. While it is in use calls are written to it and read from it as they are: go-redis's pool, contexts
// with timers, boxed arguments and two deadlines are 10 µs of a lone request's 24, and 21 of its 22 allocations.
type direct struct {
	client  redis.UniversalClient
	timeout time.Duration
	// carried is the connection on which go-redis sent take.lua last.
	carried atomic.Pointer[net.Conn]

	// mu is held during a call.
	mu sync.Mutex
	// conn was open when it was used last; nil for none.
	conn    net.Conn
	used    time.Time
	out, in []byte
}

var (
	takeHash    = takeScript.Hash()
	errNoScript = errors.New("redis: it does not know the script yet")
)

// newDirect returns nil for a cluster.
func newDirect(o redis.UniversalOptions) *direct {
	if o.IsClusterMode {
		return nil
	}
	d := &direct{timeout: o.DialTimeout, in: make([]byte, 4096)}
	o.PoolSize, o.MinIdleConns = 1, 0
	dial := redis.NewDialer(o.Simple())
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return tap(conn, &d.carried), nil
	}
	d.client = redis.NewUniversalClient(&o)
	return d
}

// tapped notes when take.lua is sent on it.
type tapped struct {
	net.Conn
	carried *atomic.Pointer[net.Conn]
}

// tappedSocket is one that go-redis can look at, as it can't at one of TLS.
type tappedSocket struct {
	tapped
	syscall.Conn
}

func tap(conn net.Conn, carried *atomic.Pointer[net.Conn]) net.Conn {
	t := tapped{conn, carried}
	if socket, ok := conn.(syscall.Conn); ok {
		return tappedSocket{t, socket}
	}
	return t
}

func (t tapped) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(takeHash)) {
		t.carried.Store(&t.Conn)
	}
	return t.Conn.Write(b)
}

// take is that of counters.
func (d *direct) take(term int64, asks []ask) error {
	now := time.Now()
	if d.conn == nil || now.Sub(d.used) > inUse {
		return d.takeIdle(term, asks)
	}
	d.out = appendTake(d.out[:0], term, asks)
	reply, err := d.call(now)
	if errors.Is(err, errNoScript) {
		return d.takeIdle(term, asks) // Which sends it.
	}
	if err == nil {
		err = read(reply, term, asks)
	}
	if err != nil {
		_ = d.conn.Close() // So go-redis does not use it either. An answer may be on its way.
		d.conn = nil
		return err
	}
	d.used = now
	return nil
}

// takeIdle is take by go-redis.
func (d *direct) takeIdle(term int64, asks []ask) error {
	ctx, cancel := context.WithTimeout(context.Background(), d.timeout)
	defer cancel()
	d.conn = nil
	if err := takeBy(ctx, d.client, term, asks); err != nil {
		return err
	}
	if carried := d.carried.Load(); carried != nil {
		d.conn, d.used = *carried, time.Now()
	}
	return nil
}

// call sends what is in out and returns the answer, which is valid until the next call.
func (d *direct) call(now time.Time) ([]byte, error) {
	if err := d.conn.SetDeadline(now.Add(d.timeout)); err != nil {
		return nil, err
	}
	if _, err := d.conn.Write(d.out); err != nil {
		return nil, err
	}
	for n := 0; ; {
		if n == len(d.in) {
			d.in = append(d.in, make([]byte, len(d.in))...)
		}
		m, err := d.conn.Read(d.in[n:])
		n += m
		reply, whole, malformed := bulk(d.in[:n])
		if whole || malformed != nil {
			return reply, malformed
		}
		if err != nil {
			return nil, err
		}
	}
}

// bulk returns the one string that a reply is, and whole once all of it is there.
func bulk(b []byte) (value []byte, whole bool, err error) {
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	switch {
	case !ok || len(line) == 0:
		return nil, false, nil
	case bytes.HasPrefix(line, []byte("-NOSCRIPT ")):
		return nil, true, errNoScript
	case line[0] == '-':
		return nil, true, fmt.Errorf("redis: %s", line[1:])
	}
	size, err := strconv.Atoi(string(line[1:]))
	if err != nil || line[0] != '$' || size < 0 || len(rest) > size+2 {
		return nil, true, errUnexpected
	}
	return rest[:min(size, len(rest))], len(rest) == size+2, nil
}

// appendTake appends the call of take.lua as Redis reads it.
func appendTake(b []byte, term int64, asks []ask) []byte {
	keys := len(asks)
	for i := range asks {
		if asks[i].claim.KeyPerMinute > 0 {
			keys++
		}
	}
	b = appendHead(b, '*', 4+keys)
	b = append(b, "$7\r\nEVALSHA\r\n$40\r\n"...)
	b = append(b, takeHash...)
	b = append(b, "\r\n"...)
	var number [20]byte
	count := strconv.AppendInt(number[:0], int64(keys), 10)
	b = append(append(appendHead(b, '$', len(count)), count...), "\r\n"...)
	for i := range asks {
		b = appendSentKeys(b, &asks[i].claim)
	}
	b = appendHead(b, '$', packedNumber+packedAsk*len(asks))
	return append(appendAsks(b, term, asks), "\r\n"...)
}

// appendSentKeys appends what appendClaimKeys names.
func appendSentKeys(b []byte, c *Claim) []byte {
	var name [32]byte
	tenant := appendTenant(name[:0], c.TenantID)
	b = append(append(appendHead(b, '$', len(tenant)), tenant...), "\r\n"...)
	if c.KeyPerMinute <= 0 {
		return b
	}
	b = appendHead(b, '$', len(tenant)+len(ownInfix)+len(c.KeyID))
	b = append(append(append(b, tenant...), ownInfix...), c.KeyID...)
	return append(b, "\r\n"...)
}

func appendHead(b []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(b, kind), int64(n), 10), "\r\n"...)
}
