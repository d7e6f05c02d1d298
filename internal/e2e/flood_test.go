package e2e_test

// Tests with a flood are not parallel: they would slow down those that measure delays.

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"petstore.example/internal/keys"
)

// flood is a load of raw connections, each of which sends one request after the other. It takes little processor time, so that a
// server on the same machine has the rest.
type flood struct {
	stopping atomic.Bool
	all      sync.WaitGroup
	counts   [600]atomic.Int64 // by status; 0 for a connection that failed
}

// startFlood opens connections to the server. from returns the address from which each connection comes, and request writes the next
// request into the buffer.
func startFlood(s *server, connections int, from func(connection int) net.IP, request func(b []byte) []byte) *flood {
	f := &flood{}
	for i := range connections {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: from(i)}, Timeout: timeout}
		f.all.Go(func() {
			for !f.stopping.Load() {
				if f.connect(dialer, s.host(), request) != nil && !f.stopping.Load() {
					f.counts[0].Add(1)
					time.Sleep(100 * time.Millisecond) // a refused connection is tried again
				}
			}
		})
	}
	return f
}

// connect sends requests over one connection until it breaks or the flood stops.
func (f *flood) connect(dialer *net.Dialer, host string, request func([]byte) []byte) error {
	conn, err := dialer.Dial("tcp", host)
	if err != nil {
		return err
	}
	defer conn.Close()
	in, out := bufio.NewReader(conn), []byte(nil)
	for !f.stopping.Load() {
		if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
			return err
		}
		out = request(out[:0])
		if _, err := conn.Write(out); err != nil {
			return err
		}
		status, err := readStatus(in)
		if err != nil {
			return err
		}
		f.counts[status].Add(1)
	}
	return nil
}

// readStatus reads a response to its end.
func readStatus(in *bufio.Reader) (status int, err error) {
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		switch {
		case first:
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, err
			}
		case len(line) == 2:
			_, err := in.Discard(length)
			return status, err
		default:
			if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
					return 0, err
				}
			}
		}
	}
}

// stop ends the flood.
func (f *flood) stop() {
	f.stopping.Store(true)
	f.all.Wait()
}

// total returns how many requests had a response.
func (f *flood) total() (n int64) {
	for status := range f.counts[1:] {
		n += f.counts[1+status].Load()
	}
	return n
}

func (f *flood) String() string {
	text := fmt.Sprintf("%d requests", f.total())
	for status := range f.counts {
		if n := f.counts[status].Load(); n > 0 {
			text += fmt.Sprintf(", %d × %d", n, status)
		}
	}
	return text
}

// list writes the request for a list with that key.
func list(b []byte, token string) []byte {
	return append(append(append(b, "GET /v1/pets HTTP/1.1\r\nHost: flood\r\nAuthorization: Bearer "...), token...), "\r\n\r\n"...)
}

// unknownKey writes a request with a key that has a good checksum, and that nobody has.
func unknownKey(b []byte) []byte {
	token, err := keys.NewToken(keys.Live)
	if err != nil {
		panic(err)
	}
	return list(b, token.Reveal())
}

// wrongChecksum writes a request whose key is refused without a look-up. It takes as long to make as unknownKey's.
func wrongChecksum(b []byte) []byte {
	b = unknownKey(b)
	last := &b[len(b)-5]
	if *last++; *last > 'z' {
		*last = '0'
	}
	return b
}

// oneAddress is that of the flood with that number, manyAddresses those of its connections.
func oneAddress(flood, _ int) net.IP { return net.IPv4(127, byte(1+flood), 0, 1) }

func manyAddresses(flood, connection int) net.IP {
	return net.IPv4(127, byte(1+flood), byte(connection/250), byte(1+connection%250))
}

// known are the requests of a tenant during a flood.
type known struct {
	responses []response
}

// send sends requests of the tenant's, every 40 ms, for that time.
func (k *known) send(d *deployment, s *server, tenants []*tenant, lasts time.Duration) {
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(lasts)
	for _, t := range tenants {
		all.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				var a response
				if i%4 == 0 {
					a = d.client.post(s, t.keys[0].token, "Rex")
				} else {
					a = d.client.get(s, t.keys[0].token, "/pets")
				}
				mu.Lock()
				k.responses = append(k.responses, a)
				mu.Unlock()
				time.Sleep(40 * time.Millisecond) // a caller's own work
			}
		})
	}
	all.Wait()
}

// p returns the quantile of the durations.
func (k *known) p(quantile float64) time.Duration {
	var took []time.Duration
	for _, a := range k.responses {
		took = append(took, a.took())
	}
	slices.Sort(took)
	return took[min(len(took)-1, int(quantile*float64(len(took))))].Round(100 * time.Microsecond)
}

// failed returns how many requests were not served.
func (k *known) failed() (n int) {
	for _, a := range k.responses {
		if a.err != nil || a.status >= 300 {
			n++
		}
	}
	return n
}

// few is how many requests a busy machine may fail to serve.
func (k *known) few() int { return len(k.responses) / 100 }

func (k *known) String() string {
	return fmt.Sprintf("%v, p50 %v, p99 %v", countByCode(k.responses), k.p(.5), k.p(.99))
}
