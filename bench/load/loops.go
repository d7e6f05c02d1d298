package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// conn is a connection on which one request is sent over and over. It ends with the context with
// which it was made.
type conn struct {
	net.Conn
	target    Target
	request   []byte
	responses *bufio.Reader
	forget    func() bool
}

// dial connects, to send the request with the key of that number.
func (t Target) dial(ctx context.Context, key int) (*conn, error) {
	req, err := t.request(ctx)
	if err != nil {
		return nil, err
	}
	if len(t.Keys) > 0 {
		req.Header.Set("Authorization", bearer(t.Keys[key]))
	}
	var request bytes.Buffer
	if err := req.Write(&request); err != nil {
		return nil, err
	}
	to, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", req.URL.Host)
	if err != nil {
		return nil, err
	}
	return &conn{
		Conn: to, target: t, request: request.Bytes(), responses: bufio.NewReaderSize(to, 4<<10),
		forget: context.AfterFunc(ctx, func() { _ = to.Close() }),
	}, nil
}

// Close closes the connection, if there is one.
func (c *conn) Close() {
	if c != nil {
		c.forget()
		_ = c.Conn.Close()
	}
}

// roundTrip sends the request and reads its response.
func (c *conn) roundTrip() error {
	if _, err := c.Write(c.request); err != nil {
		return err
	}
	return c.target.skip(c.responses)
}

// skip reads one response. It checks only the status and the length, to cost less than the server.
func (t Target) skip(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < 12 || string(line[9:12]) != strconv.Itoa(t.Status) {
		return fmt.Errorf("the response is %q, want status %d", line, t.Status)
	}
	length := 0 // a 304 has no Content-Length
	for {
		line, err = r.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		}
	}
	if want := len(t.Body); length < want-slack || length > want+slack {
		return fmt.Errorf("the response has %d bytes, want %d", length, want)
	}
	_, err = r.Discard(length)
	return err
}

// closedLoop sends the target's request on Target.Clients connections in turn, Options.Connections
// at a time, as fast as the responses arrive. Each connection sends one of the target's keys all
// the time, as a customer's program does and wrk cannot. Before the run begins each has had a
// response.
func closedLoop(ctx context.Context, t Target, o Options) (Result, error) {
	conns, err := t.dialAll(ctx)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	if err != nil {
		return Result{}, fmt.Errorf(
			"make %d connections (ulimit -n must allow as many files, and some more): %w",
			t.Clients,
			err,
		)
	}
	r, _, err := o.run(ctx, t, 0, func() (Result, error) { return sendInTurn(conns, o) })
	return r, err
}

// dialAll makes the connections, also those that it made before an error.
func (t Target) dialAll(ctx context.Context) ([]*conn, error) {
	conns := make([]*conn, t.Clients)
	dialing := errgroup.Group{}
	dialing.SetLimit(32) // Fewer than servers accept at once.
	for i := range conns {
		dialing.Go(func() (err error) {
			if conns[i], err = t.dial(ctx, i%max(1, len(t.Keys))); err != nil {
				return err
			}
			return conns[i].roundTrip()
		})
	}
	return conns, dialing.Wait()
}

func sendInTurn(conns []*conn, o Options) (Result, error) {
	took := make([][]time.Duration, min(o.Connections, len(conns)))
	var sending errgroup.Group
	start := time.Now()
	for i := range took {
		sending.Go(func() error {
			next := i
			for now := time.Now(); now.Sub(start) < o.Duration; {
				if err := conns[next].roundTrip(); err != nil {
					return err
				}
				sent := now
				now = time.Now()
				took[i] = append(took[i], now.Sub(sent))
				if next += len(took); next >= len(conns) {
					next = i // Each of these has connections of its own.
				}
			}
			return nil
		})
	}
	if err := sending.Wait(); err != nil {
		return Result{}, fmt.Errorf("send on %d connections: %w", len(conns), err)
	}
	return resultOf(time.Since(start), took...), nil
}
