package redistest_test

import (
	"testing"
	"time"

	"petstore.example/internal/test/redistest"
)

func TestSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.NewSentinels(t)
	master, replica := s.Nodes[0], s.Nodes[1]
	master.Stop()
	s.AwaitMaster(replica)
	// A master that is halted for a while, as on a busy machine, is none that failed: the other one has to become its replica all the same.
	replica.Pause()
	master.Start()
	time.Sleep(3 * time.Second) // longer than a silent master needs to count as failed
	replica.Resume()
	s.AwaitReplica(master)
	s.Failover(master)
	s.AwaitReplica(replica)
}
