package e2e_test

import (
	"testing"
	"time"

	"petstore.example/internal/test/redistest"
)

// tryCluster: as tryOneRedis, with a Redis Cluster of three masters. One master is killed and
// replaced by its replica; in the long form another one is paused until its replica replaces it.
func tryCluster(t *testing.T) *trial {
	t.Helper()
	cluster := redistest.NewCluster(t, 3)
	at, end := []float64{5, 9, 12}, 14*time.Second
	if long() {
		at, end = []float64{20, 50, 80}, 3*time.Minute
	}
	tr := newTrial(t, cluster.URL, uneven(3.5, 4.5, at[0]+0.5, at[0]+2, at[0]+5, at[1]+2, at[0]+2.5)...)
	first, second := cluster.Nodes[0], cluster.Nodes[1]
	phases := []phase{
		{name: "healthy", healthy: true},
		{name: "master killed", from: seconds(at[0]), do: func() {
			first.Stop()
			cluster.AwaitMaster(cluster.Nodes[3])
		}},
		{name: "back as a replica", from: seconds(at[1]), do: func() {
			first.Start()
			cluster.AwaitReplica(first)
		}},
		{name: "settled", from: seconds(at[1] + 1)},
	}
	if long() {
		phases = append(phases,
			phase{name: "master paused", from: seconds(at[2]), do: func() {
				second.Pause()
				cluster.AwaitMaster(cluster.Nodes[4])
			}},
			phase{name: "resumed as a replica", from: seconds(at[2] + 15), do: second.Resume},
			phase{name: "healthy again", from: seconds(at[2] + 30), healthy: true},
		)
	}
	tr.run(end, phases...)
	return tr
}
