package plans

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// eventually waits until it is so, as long as a busy machine may need.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if so() {
			return
		}
	}
	t.Fatalf("it never came to this: %s", what)
}

func degraded(l *Redis) bool {
	is, _ := l.Degraded()
	return is
}

// mendedAll waits until Redis decides again and knows everything.
func mendedAll(t testing.TB, limiters ...*Redis) {
	t.Helper()
	for _, l := range limiters {
		eventually(t, "Redis decides again", func() bool { return !degraded(l) && len(l.ledger.debtors()) == 0 })
	}
}

// usedInRedis reads a tenant's counters as anyone can.
func usedInRedis(t testing.TB, client redis.UniversalClient, tenantID int64, now time.Time) used {
	t.Helper()
	minute, err := client.Get(t.Context(), minuteKey(tenantID, minuteAt(tenantID, now))).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	day, err := client.Get(t.Context(), dayKey(tenantID, DayAt(now))).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return used{minute: minute, day: day}
}

// interceptor stands between a limiter and Redis.
type interceptor struct {
	calls atomic.Int64
	after atomic.Pointer[func(redis.Cmder) error] // what becomes of a reply
}

func (i *interceptor) DialHook(next redis.DialHook) redis.DialHook { return next }

func (i *interceptor) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (i *interceptor) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		i.calls.Add(1)
		err := next(ctx, cmd)
		if after := i.after.Load(); err == nil && after != nil {
			if err = (*after)(cmd); err != nil {
				cmd.SetErr(err)
			}
		}
		return err
	}
}

// addsBack tells a call that brings a batch from a probe, which adds nothing.
func addsBack(cmd redis.Cmder) bool {
	args := cmd.Args()
	return len(args) == 13 && (args[1] == addBackScript.Hash() || args[1] == addBackSource) && args[8] != int64(0)
}

// lines collects a log.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) with(level string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.all.String(), `"level":"`+level+`"`)
}
