package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// TestOngoingRequestIsFinished stops a server while a client is still sending a body. The animal is
// created, and the request counted.
func TestOngoingRequestIsFinished(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	s := d.serve()
	tn := d.tenant(plans.Business, nil, 1)
	d.patient.get(s, tn.keys[0].token, "/pets") // From now on its key is in memory.
	conn := s.connect(t)
	const body = `{"name":"Late","categoryId":7}`
	_, err := fmt.Fprintf(
		conn,
		"POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
			"Content-Length: %d\r\n\r\n%s",
		tn.keys[0].token,
		len(body),
		body[:10],
	)
	assert.NoError(t, err)
	// The server has read the headers once the request is counted.
	wait.Until(t, "a request that has begun", func() bool { return recorded(d, tn) == 2 })
	asked := time.Now()
	d.beginStop(s)
	wait.Until(t, "no new connections", func() bool {
		fresh, err := net.Dial("tcp", conn.RemoteAddr().String())
		if err == nil {
			_ = fresh.Close()
		}
		return err != nil
	})
	_, err = io.WriteString(conn, body[10:])
	assert.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	assert.NoError(t, err)
	defer res.Body.Close()
	assert.Equal(t, res.StatusCode, http.StatusCreated, "the ongoing request", res.Status)
	assert.Equal(t, s.Wait(), 0, "exit code")
	if n := d.number(`select count(*) from pets where tenant_id = $1 and name = 'Late'`, tn.ID); n != 1 {
		t.Errorf("%d animals, want 1", n)
	}
	assert.Equal(t, d.number(`select count(*) from servers`), 0, "servers are taken for alive")
	t.Logf("a request whose body came after SIGTERM: %s; the server ended %v after it was asked", res.Status,
		time.Since(asked).Round(time.Millisecond))
}

// TestOngoingListIsFinished stops a server while a list query is running, on a connection that was
// used before. The client gets the list, and Connection: close.
func TestOngoingListIsFinished(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	s := d.serve()
	tn := d.tenant(plans.Business, nil, 1)
	d.patient.get(s, tn.keys[0].token, "/pets")
	conn := s.connect(t)
	responses := bufio.NewReader(conn)
	send := func(limit int) {
		t.Helper()
		_, err := fmt.Fprintf(
			conn,
			"GET /v1/pets?limit=%d HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n",
			limit,
			tn.keys[0].token,
		)
		assert.NoError(t, err)
	}
	receive := func() *http.Response {
		t.Helper()
		res, err := http.ReadResponse(responses, nil)
		assert.NoError(t, err)
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || string(body) != "[]\n" {
			t.Fatalf("%s %s %v", res.Status, body, err)
		}
		return res
	}
	for limit := range 5 {
		send(limit + 1)
		receive()
	}
	tx, err := d.sql.BeginTx(t.Context(), nil)
	assert.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "lock table pets in access exclusive mode")
	assert.NoError(t, err)
	send(100)
	wait.Until(t, "a list that waits", func() bool {
		return d.number(`select count(*) from pg_locks where not granted and relation = 'pets'::regclass
			and database = (select oid from pg_database where datname = current_database())`) == 1
	})
	d.beginStop(s)
	time.AfterFunc(300*time.Millisecond, func() { _ = tx.Rollback() })
	res := receive()
	assert.True(t, res.Close, "no Connection: close", res.Header)
	assert.Equal(t, s.Wait(), 0, "exit code")
}

// connect opens a connection to the server.
func (s *server) connect(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
