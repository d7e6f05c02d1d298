package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/test/assert"
)

// TestPingerSharesPings: callers that come together wait for one ping, and those that come soon
// after it use its result.
func TestPingerSharesPings(t *testing.T) {
	t.Parallel()
	var pings atomic.Int64
	var result error
	p := pinger{ping: func(context.Context) error {
		pings.Add(1)
		time.Sleep(20 * time.Millisecond)
		return result
	}}
	checkTogether := func(want error, wantPings int64) {
		t.Helper()
		var callers sync.WaitGroup
		for range 200 {
			callers.Go(func() {
				assert.ErrorIs(t, p.check(), want)
			})
		}
		callers.Wait()
		assert.Equal(t, pings.Load(), wantPings, "pings")
	}
	checkTogether(nil, 1)
	p.ended, result = p.ended.Add(-pingValidFor), errors.New("down")
	checkTogether(result, 2)
}

// TestPingerEnds: a database that does not answer is found down after pingTimeout.
func TestPingerEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pinger{ping: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		begin := time.Now()
		if err := p.check(); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != pingTimeout {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}
