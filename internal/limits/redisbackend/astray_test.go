package redisbackend_test

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

// leadTo returns an address that leads to a server: connections that were made stay where they lead.
func leadTo(t *testing.T, addr *atomic.Pointer[string]) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", *addr.Load())
			if err != nil {
				_ = client.Close()
				continue
			}
			carry := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				_, _ = to.Close(), from.Close()
			}
			go carry(server, client)
			go carry(client, server)
		}
	}()
	return listener.Addr().String()
}

// TestLedAstray: after a failover behind one address a server that only got another role keeps its
// connections. They are closed, so that the next ping reaches the new master, also if the replica
// refuses to serve what it has.
func TestLedAstray(t *testing.T) {
	t.Parallel()
	for name, pinned := range map[string]bool{"pinned": true, "not pinned": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := redistest.New(t), redistest.New(t)
			var addr atomic.Pointer[string]
			addr.Store(&first.Addr)
			client, err := redisbackend.NewClient("redis://"+leadTo(t, &addr), timeout)
			assert.NoError(t, err)
			defer client.Close()
			backend := redisbackend.New(client)
			was, err := backend.Ping(t.Context())
			assert.NoError(t, err)
			if pinned {
				backend.Pin(was)
				_, err = backend.Ping(t.Context())
				assert.NoError(t, err)
			}
			host, port, _ := net.SplitHostPort(second.Addr)
			admin := look(t, first.URL)
			assert.NoError(t, admin.ConfigSet(t.Context(), "replica-serve-stale-data", "no").Err())
			assert.NoError(t, admin.SlaveOf(t.Context(), host, port).Err())
			addr.Store(&second.Addr)
			_, err = backend.Ping(t.Context())
			assert.True(t, err != nil && strings.Contains(err.Error(), "not master"), "a ping of a replica", err)
			if pinned {
				_, err = backend.Ping(t.Context())
				assert.True(t, err != nil && strings.Contains(err.Error(), "not the same process"), "the next", err)
				backend.Pin("")
			}
			now, err := backend.Ping(t.Context())
			assert.NoError(t, err, "the ping after it")
			assert.True(t, now != was, "the master is", now)
		})
	}
}

// TestFollowsSentinels: their client follows the topology by itself, also when the former master
// stays alive. A cluster's client does so in TestClusterFailover of package distributed.
func TestFollowsSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.NewSentinels(t)
	client, err := redisbackend.NewClient(s.URL, timeout)
	assert.NoError(t, err)
	defer client.Close()
	backend := redisbackend.New(client)
	was, err := backend.Ping(t.Context())
	assert.NoError(t, err)
	s.Failover(s.Nodes[1])
	wait.Until(t, "the new master", func() bool {
		now, err := backend.Ping(t.Context())
		return err == nil && now != was
	})
}
