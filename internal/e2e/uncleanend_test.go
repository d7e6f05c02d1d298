package e2e_test

import (
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/redistest"
)

// tryUncleanEnd: a server is killed together with Redis. Later another one is paused together with
// Redis and resumes after the others have fenced it. Nobody knows what they admitted last; still no
// limit is exceeded.
func tryUncleanEnd(t *testing.T) *trial {
	t.Helper()
	redis := redistest.New(t)
	at, end := []float64{20, 40, 80, 90}, 3*time.Minute
	tr := newTrial(
		t,
		redis.URL,
		spec{ends: seconds(3.5), plan: plans.Free, callers: []int{0, 1}},
		// Their minutes begin just before, and most of their load is on the server that ends.
		spec{
			ends:    seconds(at[0] - 0.5),
			plan:    plans.Enterprise,
			own:     enterprise(700, 100_000),
			callers: []int{2, 2, 2, 2, 2, 2, 2, 2, 0},
		},
		spec{
			ends:    seconds(at[2] - 0.5),
			plan:    plans.Enterprise,
			own:     enterprise(700, 100_000),
			callers: []int{1, 1, 1, 1, 1, 1, 1, 1, 0},
		},
		spec{ends: seconds(at[0] + 2), plan: plans.Pro, callers: []int{0, 1, 2}},
		spec{ends: seconds(at[3] + 1), plan: plans.Business, callers: []int{0, 1, 2}},
	)
	tr.silent = true
	phases := []phase{
		{name: "healthy", healthy: true},
		{name: "a server and Redis killed", from: seconds(at[0]), do: func() {
			tr.servers[2].Kill()
			redis.Stop()
			tr.replace(2, tr.servers[0])
		}},
		{name: "both started", from: seconds(at[1]), do: func() {
			redis.Start()
			tr.replace(2, tr.serve())
		}},
		{name: "a server and Redis paused", from: seconds(at[2]), do: func() {
			_ = tr.servers[1].Signal(syscall.SIGSTOP)
			redis.Pause()
		}},
		{name: "both resumed", from: seconds(at[3]), do: func() {
			_ = tr.servers[1].Signal(syscall.SIGCONT)
			redis.Resume()
		}},
		{name: "healthy again", from: seconds(at[3] + 30), healthy: true},
	}
	tr.run(end, phases...)
	return tr
}
