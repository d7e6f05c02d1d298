package servers

import (
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"time"
)

// Delayed relays connections to a server on this machine as over a network: what clients send arrives after a time.
type Delayed struct {
	listener net.Listener
	addr     string
	delay    time.Duration
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	// closed is set by Close.
	closed bool
}

// DelayPostgres relays to a database. It returns the database's URL through the relay, of which every round trip takes that much longer.
func DelayPostgres(databaseURL string, delay time.Duration) (*Delayed, string, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return nil, "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	query := u.Query()
	d := &Delayed{listener: listener, addr: filepath.Join(query.Get("host"), ".s.PGSQL."+query.Get("port")), delay: delay, conns: map[net.Conn]struct{}{}}
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = listener.Addr().String(), query.Encode()
	d.running.Go(d.accept)
	return d, u.String(), nil
}

func (d *Delayed) accept() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", d.addr)
		if err != nil || !d.add(client, server) {
			_ = client.Close()
			continue
		}
		d.running.Go(func() { d.forward(server, client) })
		d.running.Go(func() {
			_, _ = io.Copy(client, server)
			d.remove(client, server)
		})
	}
}

// forward sends what the client sends to the server, each part after the delay, and later parts do not wait for earlier ones.
func (d *Delayed) forward(server, client net.Conn) {
	type part struct {
		bytes []byte
		due   time.Time
	}
	parts := make(chan part, 64)
	d.running.Go(func() {
		defer close(parts)
		for {
			b := make([]byte, 32<<10)
			n, err := client.Read(b)
			if n > 0 {
				parts <- part{b[:n], time.Now().Add(d.delay)}
			}
			if err != nil {
				return
			}
		}
	})
	for p := range parts {
		time.Sleep(time.Until(p.due))
		_, _ = server.Write(p.bytes) // After an error the reads end too.
	}
	d.remove(client, server)
}

// add returns false if the relay is closed.
func (d *Delayed) add(conns ...net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range conns {
		if d.closed {
			_ = c.Close()
			continue
		}
		d.conns[c] = struct{}{}
	}
	return !d.closed
}

func (d *Delayed) remove(conns ...net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(d.conns, c)
	}
}

// Close ends all connections.
func (d *Delayed) Close() error {
	err := d.listener.Close()
	d.mu.Lock()
	d.closed = true
	var errs []error
	for c := range d.conns {
		errs = append(errs, c.Close())
	}
	d.mu.Unlock()
	d.running.Wait()
	return errors.Join(err, errors.Join(errs...))
}
