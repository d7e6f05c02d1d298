package counters_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store/counters"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(storetest.Suite{M: m}) }

// TestPausedRenewalBlocksNobody: Postgres ends the transaction of a server that is paused in the
// middle of it.
func TestPausedRenewalBlocksNobody(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	open := func(o pgconn.Options) *pgconn.DB {
		db, err := pgconn.Open(t.Context(), database.URL, o)
		assert.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	// Unlike the API, staff have no other limit on a transaction that is idle.
	paused := open(pgconn.Options{})
	terms := counters.NewTerms(open(pgconn.Options{AsAPI: true, Timeout: 30 * time.Second}))
	begin := time.Now()
	_ = paused.Tx(t.Context(), func(ctx context.Context, tx pgconn.Tx) error {
		_, err := tx.Exec(ctx, counters.LockClusterQuery, true)
		assert.Equal(t, err, nil)
		_, err = terms.Renew(ctx, cluster.Heartbeat{ServerID: "b"})
		assert.NoError(t, err)
		wait.Bound(t, "a renewal behind one that is paused", time.Since(begin), time.Second)
		return err
	})
}
