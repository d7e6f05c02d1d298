package servers

import (
	"context"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"time"
)

// DelayPostgres relays connections to a database on this machine as over a network: what clients
// send arrives after a time. It returns the database's URL through the relay, of which every round
// trip takes that much longer. stop ends all connections.
func DelayPostgres(
	databaseURL string,
	delay time.Duration,
) (delayed string, stop func(context.Context) error, err error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	query := u.Query()
	socket := filepath.Join(query.Get("host"), ".s.PGSQL."+query.Get("port"))
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = listener.Addr().String(), query.Encode()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { relay(ctx, client, socket, delay) })
		}
	})
	return u.String(), func(context.Context) error {
		cancel()
		defer running.Wait()
		return listener.Close()
	}, nil
}

// relay connects a client with the server until one of them ends, or the context.
func relay(ctx context.Context, client net.Conn, socket string, delay time.Duration) {
	defer client.Close()
	server, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	end := func() { _, _ = client.Close(), server.Close() }
	stop := context.AfterFunc(ctx, end)
	defer stop()
	var answers sync.WaitGroup
	answers.Go(func() {
		defer end()
		_, _ = io.Copy(client, server)
	})
	forward(server, client, delay)
	end()
	answers.Wait()
}

// forward sends what the client sends to the server, each part after the delay, and later parts do
// not wait for earlier ones.
func forward(server, client net.Conn, delay time.Duration) {
	type part struct {
		bytes []byte
		due   time.Time
	}
	parts := make(chan part, 64)
	go func() {
		defer close(parts)
		for {
			b := make([]byte, 32<<10)
			n, err := client.Read(b)
			if n > 0 {
				parts <- part{b[:n], time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range parts {
		time.Sleep(time.Until(p.due)) // the way over the network
		_, _ = server.Write(p.bytes)  // After an error the reads end too.
	}
}
