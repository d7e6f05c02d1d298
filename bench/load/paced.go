package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// Pace sends the target's request at a fixed rate, whether the answers come or not: each request is due at an instant, its
// latency begins then, and one that has to wait for the connection's answer before is late, not left out.
func Pace(ctx context.Context, t Target, rate float64, o Options) (Result, error) {
	before, err := t.check(ctx)
	if err != nil {
		return Result{}, err
	}
	took, err := pace(ctx, t, rate, o)
	if err != nil {
		return Result{}, fmt.Errorf("send %.0f requests a second: %w", rate, err)
	}
	after, err := t.check(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("after the run: %w", err)
	}
	slices.Sort(took)
	n := len(took)
	r := Result{Requests: int64(n), Elapsed: o.Duration, P50: took[n/2], P99: took[n*99/100]}
	return r, t.checkCount(before, after, r.Requests, 0)
}

// pace returns how long each request took.
func pace(ctx context.Context, t Target, rate float64, o Options) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Duration+time.Minute)
	defer cancel()
	took := make([][]time.Duration, o.Connections)
	all, ctx := errgroup.WithContext(ctx)
	interval := time.Duration(float64(o.Connections) / rate * float64(time.Second))
	// The connections are made before the first request is due, and take their turns evenly.
	start := time.Now().Add(100 * time.Millisecond)
	for i := range took {
		first := start.Add(interval * time.Duration(i) / time.Duration(o.Connections))
		took[i] = make([]time.Duration, 0, o.Duration/interval+1)
		all.Go(func() (err error) {
			took[i], err = t.paceOne(ctx, took[i], first, interval, start.Add(o.Duration))
			return err
		})
	}
	err := all.Wait()
	return slices.Concat(took...), err
}

// paceOne is one connection's part: a request at first and at each interval after it, until the end.
func (t Target) paceOne(ctx context.Context, took []time.Duration, first time.Time, interval time.Duration, end time.Time) ([]time.Duration, error) {
	conn, request, err := t.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	answers := bufio.NewReaderSize(conn, 16<<10)
	for due := first; due.Before(end); due = due.Add(interval) {
		time.Sleep(time.Until(due))
		if _, err := conn.Write(request); err != nil {
			return nil, err
		}
		if err := t.skip(answers); err != nil {
			return nil, err
		}
		took = append(took, time.Since(due))
	}
	return took, nil
}

// dial connects and writes the request that is to be sent.
func (t Target) dial(ctx context.Context) (net.Conn, []byte, error) {
	req, err := t.request(ctx)
	if err != nil {
		return nil, nil, err
	}
	var request bytes.Buffer
	if err := req.Write(&request); err != nil {
		return nil, nil, err
	}
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, nil, err
	}
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", u.Host)
	return conn, request.Bytes(), err
}

// skip reads one answer. Only its status and its length are looked at: the load tool must not cost more than the server.
func (t Target) skip(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < 12 || string(line[9:12]) != strconv.Itoa(t.Status) {
		return fmt.Errorf("the answer is %q, want status %d", line, t.Status)
	}
	length := 0 // A 304 has none and says so by leaving it out.
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
		return fmt.Errorf("the answer has %d bytes, want %d", length, want)
	}
	_, err = r.Discard(length)
	return err
}
