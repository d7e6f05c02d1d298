package redistest_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/test/redistest"
)

func TestClusterFailsOver(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t, 3)
	client := func() *redis.ClusterClient {
		options, err := redis.ParseClusterURL(cluster.URL)
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClusterClient(options)
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	before := client()
	for _, key := range []string{"{a}", "{b}", "{c}", "{d}"} {
		if err := before.Set(t.Context(), key, key, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	// What a replica has not yet heard of is lost with its master.
	cluster.AwaitReplica(cluster.Nodes[3])
	cluster.Nodes[0].Stop()
	begin := time.Now()
	cluster.AwaitMaster(cluster.Nodes[3])
	t.Logf("a replica took over after %v", time.Since(begin))
	after := client()
	for _, key := range []string{"{a}", "{b}", "{c}", "{d}"} {
		if got, err := after.Get(t.Context(), key).Result(); got != key || err != nil {
			t.Errorf("%s is %q, %v", key, got, err)
		}
	}
	cluster.Nodes[0].Start()
	cluster.AwaitReplica(cluster.Nodes[0])
	// A master that is halted for a while, as on a busy machine, is none that failed.
	cluster.Nodes[3].Pause()
	time.Sleep(4 * time.Second) // longer than a silent master needs to count as failed
	cluster.Nodes[3].Resume()
	cluster.AwaitReplica(cluster.Nodes[0])
}
