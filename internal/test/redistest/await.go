package redistest

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/wait"
)

const (
	// agreeLimit bounds the wait for servers to agree. Within it, a failed failover is tried again
	// several times.
	agreeLimit = 2 * time.Minute

	// A silent master counts as failed after failsAfter while a test waits for its replica to take
	// over, otherwise after neverFails. On a busy machine any server may be silent for some
	// seconds; a replica that took over by chance would remain the master.
	failsAfter = time.Second
	neverFails = time.Minute
)

// await returns once the condition holds on a server.
func await(t testing.TB, on *Server, what string, holds func() bool) {
	t.Helper()
	wait.Within(t, agreeLimit, what, holds, func() string { return describe(t, on) })
}

// describe returns what a server says about itself and the others. Most kinds of servers know only
// a few of these commands.
func describe(t testing.TB, s *Server) string {
	client := clientOf(s.Addr, 0)
	defer client.Close()
	var said strings.Builder
	for _, args := range [][]any{{"info", "replication"}, {"cluster", "info"}, {"cluster", "nodes"},
		{"info", "sentinel"}} {
		reply, err := client.Do(t.Context(), args...).Text()
		fmt.Fprintln(&said, s.Addr, args, err, reply)
	}
	return said.String()
}

// awaitReplica returns when the server has all of its master's data.
func awaitReplica(t testing.TB, s *Server) {
	t.Helper()
	var written int64
	await(t, s, "a replica to follow its master", func() bool {
		state := replication(t, s.Addr)
		if state["master_link_status"] != "up" {
			return false
		}
		master := replication(t, net.JoinHostPort(state["master_host"], state["master_port"]))
		written = number(master["master_repl_offset"])
		return master["role"] == "master"
	})
	await(t, s, "a replica to have what its master has", func() bool {
		state := replication(t, s.Addr)
		return state["master_link_status"] == "up" && number(state["slave_repl_offset"]) >= written
	})
}

// replication returns what a server says about its replication, or nothing if the server does not
// answer.
func replication(t testing.TB, addr string) map[string]string {
	client := clientOf(addr, 0)
	defer client.Close()
	return client.InfoMap(t.Context(), "replication").Val()["Replication"]
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// do sends a command. It returns the reply as text.
func do(t testing.TB, to *Server, args ...any) string {
	t.Helper()
	client := clientOf(to.Addr, 0)
	defer client.Close()
	reply, err := client.Do(t.Context(), args...).Text()
	if err != nil {
		t.Fatalf("test redis: %v: %v", args, err)
	}
	return reply
}
