package redistest

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/freeport"
)

const slots = 16384

// Cluster is a Redis Cluster for one test, with a replica for every master. Its methods must be
// called from the test's goroutine.
type Cluster struct {
	// URL names all nodes, in the form that redisbackend.NewClient reads.
	URL string
	// Nodes are first the masters and then their replicas, in the same order. The test may stop a
	// node and start it again; it then is a replica of the node that took over from it.
	Nodes []*Server

	t     testing.TB
	buses []string // the ports on which the nodes talk to each other
}

// NewCluster starts that many masters and as many replicas, and returns when they all agree.
func NewCluster(t testing.TB, masters int) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	for range 2 * masters {
		// The default, the port plus 10,000, may be invalid or taken.
		_, port, _ := net.SplitHostPort(freeport.Address(t))
		c.buses = append(c.buses, port)
		c.Nodes = append(c.Nodes, newServer(t, "--databases", "1", "--dir", t.TempDir(), "--cluster-enabled", "yes",
			"--cluster-port", port, "--cluster-node-timeout", strconv.FormatInt(neverFails.Milliseconds(), 10),
			// A replica may take over even if it has not heard of its master for long.
			"--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"))
	}
	c.URL = "redis://" + c.Nodes[0].Addr + "?addr=" + c.Nodes[1].Addr
	for _, n := range c.Nodes[2:] {
		c.URL += "&addr=" + n.Addr
	}
	c.join(masters)
	return c
}

func (c *Cluster) join(masters int) {
	c.t.Helper()
	// Nodes send heartbeats often if the time until they count as failed is short.
	c.failAfter(failsAfter, "cluster-replica-no-failover", "yes")
	ids := make([]string, masters)
	for i, n := range c.Nodes {
		// If nodes disagree, the one with the greatest epoch prevails, so each node gets its own
		// epoch.
		do(c.t, n, "cluster", "set-config-epoch", i+1)
		if i < masters {
			do(c.t, n, "cluster", "addslotsrange", i*slots/masters, (i+1)*slots/masters-1)
			ids[i] = do(c.t, n, "cluster", "myid")
		}
		if i > 0 {
			host, port, _ := net.SplitHostPort(n.Addr)
			do(c.t, c.Nodes[0], "cluster", "meet", host, port, c.buses[i])
		}
	}
	for i, n := range c.Nodes {
		await(c.t, n, "all nodes to know each other", func() bool {
			return strings.Count(do(c.t, n, "cluster", "nodes"), " connected") == len(c.Nodes)
		})
		if i >= masters {
			do(c.t, n, "cluster", "replicate", ids[i-masters])
		}
	}
	for i := range masters {
		c.AwaitReplica(c.Nodes[masters+i])
	}
	for _, n := range c.Nodes {
		await(c.t, n, "the cluster to be complete", func() bool {
			return strings.Contains(do(c.t, n, "cluster", "info"), "cluster_state:ok") &&
				strings.Count(do(c.t, n, "cluster", "nodes"), "slave") == masters
		})
	}
	c.failAfter(neverFails, "cluster-replica-no-failover", "no")
}

// failAfter sets the time after which a silent node counts as failed, and other settings.
func (c *Cluster) failAfter(d time.Duration, settings ...any) {
	c.t.Helper()
	for _, n := range c.running() {
		do(c.t, n, append([]any{"config", "set", "cluster-node-timeout", d.Milliseconds()}, settings...)...)
	}
}

// running returns the nodes that are neither stopped nor paused.
func (c *Cluster) running() []*Server {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n *Server) bool { return n.process == nil || n.paused })
}

// AwaitMaster makes the others notice that the node's master was stopped or paused. It returns when
// the node has taken over and all running nodes know it as the master.
func (c *Cluster) AwaitMaster(n *Server) {
	c.t.Helper()
	c.failAfter(failsAfter)
	for _, other := range c.running() {
		await(c.t, other, "a replica to take over", func() bool {
			return c.isMaster(other, n) && strings.Contains(do(c.t, other, "cluster", "info"), "cluster_state:ok")
		})
	}
	c.failAfter(neverFails)
}

// isMaster reports whether other takes the node for a master.
func (c *Cluster) isMaster(other, n *Server) bool {
	for line := range strings.Lines(do(c.t, other, "cluster", "nodes")) {
		if strings.Contains(line, n.Addr+"@") {
			return strings.Contains(line, "master")
		}
	}
	return false
}

// AwaitReplica returns when the node has all of its master's data.
func (c *Cluster) AwaitReplica(n *Server) {
	c.t.Helper()
	awaitReplica(c.t, n)
}
