package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// MasterName is the sentinels' name for their master.
const MasterName = "petstore"

// Sentinels are three Redis Sentinels for one test, with a master and a replica. Its methods must
// be called from the test's goroutine.
type Sentinels struct {
	// URL names the sentinels, in the form that redisbackend.NewClient reads.
	URL string
	// Nodes are the first master and its replica.
	Nodes []*Server

	t         testing.TB
	sentinels []*Server
}

// NewSentinels starts them, and returns when they all agree.
func NewSentinels(t testing.TB) *Sentinels {
	t.Helper()
	s := &Sentinels{t: t}
	master := newServer(t, "--dir", t.TempDir(), "--repl-diskless-sync-delay", "0")
	host, port, _ := net.SplitHostPort(master.Addr)
	replica := newServer(t, "--dir", t.TempDir(), "--replicaof", host, port, "--repl-diskless-sync-delay", "0")
	s.Nodes = []*Server{master, replica}
	awaitReplica(t, replica)
	for range 3 {
		o := newSentinel(t, host, port)
		s.sentinels = append(s.sentinels, o)
		s.hurry(o)
	}
	s.URL = "redis://" + s.sentinels[0].Addr + "/0?master_name=" + MasterName
	for _, o := range s.sentinels[1:] {
		s.URL += "&addr=" + o.Addr
	}
	for _, o := range s.sentinels {
		await(s.t, o, "the sentinels to know each other", func() bool {
			state := s.master(o)
			return state["num-other-sentinels"] == "2" && state["num-slaves"] == "1" && state["flags"] == "master"
		})
	}
	return s
}

// newSentinel starts a sentinel. It stores what it learns in a file.
func newSentinel(t testing.TB, host, port string) *Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	config := fmt.Sprintf("sentinel monitor %[1]s %[2]s %[3]s 2\nsentinel down-after-milliseconds %[1]s %[4]d\n"+
		"sentinel failover-timeout %[1]s 4000\n", MasterName, host, port, neverFails.Milliseconds())
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return newServer(t, file, "--sentinel")
}

// hurry makes a sentinel ask and publish several times a second or once, instead of every one to
// ten seconds.
//
// Shorter periods would break failovers. A replica can take over only if it has published within
// three periods, or five pings. If a replica was a master for four periods, a sentinel makes it a
// replica again unless it has heard of a failover, and the leader of the failover asks the replica
// only every second. The high tilt-trigger is for a sentinel that was halted: after two seconds it
// would otherwise do nothing for half a minute.
func (s *Sentinels) hurry(o *Server) {
	s.t.Helper()
	do(
		s.t,
		o,
		"sentinel",
		"debug",
		"info-period",
		500,
		"ask-period",
		200,
		"publish-period",
		1000,
		"tilt-trigger",
		time.Hour.Milliseconds(),
	)
}

// failAfter sets the time after which a silent master counts as failed.
func (s *Sentinels) failAfter(d time.Duration) {
	s.t.Helper()
	for _, o := range s.sentinels {
		do(s.t, o, "sentinel", "set", MasterName, "down-after-milliseconds", d.Milliseconds())
	}
}

// Failover makes the node take over from its master, which becomes its replica. It returns when all
// sentinels know the node as the master.
func (s *Sentinels) Failover(n *Server) {
	s.t.Helper()
	client := s.client(s.sentinels[0])
	defer client.Close()
	await(s.t, s.sentinels[0], "a replica to take over", func() bool {
		if s.isMaster(s.sentinels[0], n) {
			return true
		}
		// The command fails while another failover is under way. A sentinel ends a failover if it
		// knows no replica that is ready.
		_ = client.Failover(s.t.Context(), MasterName)
		return false
	})
	s.awaitKnown(n)
}

// AwaitMaster makes the sentinels notice that the node's master was stopped or paused. It returns
// when they all know the node as the master.
func (s *Sentinels) AwaitMaster(n *Server) {
	s.t.Helper()
	s.failAfter(failsAfter)
	s.awaitKnown(n)
	s.failAfter(neverFails)
}

// awaitKnown returns when all sentinels know the node as the master.
func (s *Sentinels) awaitKnown(n *Server) {
	s.t.Helper()
	for _, o := range s.sentinels {
		await(s.t, o, "a replica to take over", func() bool { return s.isMaster(o, n) })
	}
}

// isMaster reports whether a sentinel takes the node for the master.
func (s *Sentinels) isMaster(o, n *Server) bool {
	client := s.client(o)
	defer client.Close()
	addr, _ := client.GetMasterAddrByName(s.t.Context(), MasterName).Result()
	return len(addr) == 2 && net.JoinHostPort(addr[0], addr[1]) == n.Addr
}

// AwaitReplica returns when the node has all of its master's data, and all sentinels have seen that
// it is a replica. If a sentinel last saw it as a master, it would make the node a replica again as
// soon as that took over.
func (s *Sentinels) AwaitReplica(n *Server) {
	s.t.Helper()
	awaitReplica(s.t, n)
	for _, o := range s.sentinels {
		await(s.t, o, "a sentinel to see the replica", func() bool { return s.isReplica(o, n) })
	}
}

// isReplica reports whether the node was a replica when the sentinel last asked it.
func (s *Sentinels) isReplica(o, n *Server) bool {
	client := s.client(o)
	defer client.Close()
	return slices.ContainsFunc(client.Replicas(s.t.Context(), MasterName).Val(), func(replica map[string]string) bool {
		return net.JoinHostPort(replica["ip"], replica["port"]) == n.Addr && replica["role-reported"] == "slave"
	})
}

func (s *Sentinels) master(of *Server) map[string]string {
	client := s.client(of)
	defer client.Close()
	return client.Master(s.t.Context(), MasterName).Val()
}

func (s *Sentinels) client(of *Server) *redis.SentinelClient {
	return redis.NewSentinelClient(
		&redis.Options{Addr: of.Addr, PoolSize: 1, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1},
	)
}
