package redistest_test

import (
	"testing"

	"petstore.example/internal/limits/redisbackend/redistest"
)

func TestSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.NewSentinels(t)
	master, replica := s.Nodes[0], s.Nodes[1]
	master.Stop()
	s.AwaitMaster(replica)
	master.Start()
	s.AwaitReplica(master)
	s.Failover(master)
	s.AwaitReplica(replica)
}
