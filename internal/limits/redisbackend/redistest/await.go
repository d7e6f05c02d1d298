package redistest

import (
	"context"
	"testing"
	"time"
)

// agreeLimit bounds the wait for servers to agree.
const agreeLimit = 60 * time.Second

// await returns when it holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), agreeLimit)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("test redis: wait for %s: %v", what, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// awaitReplica returns when the server has all that its master has.
func awaitReplica(t testing.TB, s *Server) {
	t.Helper()
	await(t, "a replica to follow its master", func() bool {
		client := clientOf(s.Addr, 0)
		defer client.Close()
		return client.InfoMap(t.Context(), "replication").Val()["Replication"]["master_link_status"] == "up"
	})
}
