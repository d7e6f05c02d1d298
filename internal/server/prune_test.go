package server

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

func TestMain(m *testing.M) {
	// net/http waits half a second before it closes a connection on which it has refused a request.
	goleak.VerifyTestMain(storetest.Suite{M: m}, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

func TestPruningRemovesWhatExpired(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	db, err := store.Open(t.Context(), database.URL, store.Options{AsAPI: true})
	assert.NoError(t, err)
	defer db.Close()
	owner, err := sql.Open("postgres", database.URL)
	assert.NoError(t, err)
	defer owner.Close()
	exec := func(query string) {
		t.Helper()
		_, err := owner.ExecContext(t.Context(), query)
		assert.NoError(t, err)
	}
	keep := func() {
		t.Helper()
		exec(`insert into idempotency_keys
			select id, 'POST', '/v1/pets', n::text, sha256(''), 201, '', '', now(), now() + interval '1 hour' * sign(n)
			from tenants, generate_series(-1200, 10) n where n <> 0 on conflict do nothing`)
		exec(`insert into failed_requests
			select tenant_id, 's', n, id, now() - interval '23 hours' + interval '1 hour' * n, '', '', '', '', 0,
				null, false, '', '', 0, 404, '', 0
			from api_keys, generate_series(-1200, 8) n where n < -1 or n > 0 on conflict do nothing`)
		exec(`insert into limit_states (tenant_id, scope, minute)
			select id, 'key' || n, extract(epoch from now())::bigint / 60 + n
			from tenants, generate_series(-1200, 5) n where n < -15 or n > 0 on conflict do nothing`)
	}
	awaitLeft := func(want int) {
		t.Helper()
		left := -1
		wait.Until(t, fmt.Sprint(want, " rows that are left"), func() bool {
			assert.NoError(t, owner.QueryRowContext(t.Context(), `
				select (select count(*) from idempotency_keys) + (select count(*) from failed_requests) + (select
					count(*) from limit_states)`).Scan(&left))
			return left == want
		}, &left)
	}
	exec(`alter table limit_states disable trigger limit_states_scope`) // the scopes below are of no keys
	exec(`select test_tenant('acme', 'free')`)
	exec(`insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_0000000000000001', id, 'live', sha256(''), 'last', now() from tenants`)
	keep()
	tick, began := make(chan time.Time), time.Now().Truncate(time.Second)
	metrics := prometheus.NewRegistry()
	p := pruning{
		all:     append(allExpiring(db), allRetained(db)...),
		metrics: newRetentionMetrics(metrics),
		log:     zerolog.Nop(),
	}
	stop := background(
		zerolog.Nop(),
		"prune",
		func(ctx context.Context) error { return atTicks(ctx, tick, func() { p.prune(ctx) }) },
	)
	awaitLeft(10 + 8 + 5)
	keep()
	tick <- time.Time{}
	awaitLeft(10 + 8 + 5)
	stop()
	removed := valuesOf(t, metrics, "petstore_retention_removed_rows_total")
	assert.Equal(t, removed["idempotency_keys"], 2*1200, "removed by the metrics", removed)
	success := valuesOf(t, metrics, "petstore_retention_last_success_timestamp_seconds")
	for _, kind := range []string{"idempotency_keys", "failed_requests", "key_limits", "sign_ins", "undo_values",
		"usage_partitions", "audit_partitions", "bans", "ended_keys", "hourly_usage"} {
		if at := time.Unix(int64(success[kind]), 0); at.Before(began) {
			t.Errorf("%s last succeeded at %v, before %v", kind, at, began)
		}
	}
}

// valuesOf returns the values of a metric by their kind.
func valuesOf(t *testing.T, metrics *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := metrics.Gather()
	assert.NoError(t, err)
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name {
				values[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return values
}

func TestPruningGoesOnAfterAnError(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	results, tick := make(chan error), make(chan time.Time)
	broken := expiring{prune: func(context.Context, time.Time, int) (int, bool, error) { return 0, false, <-results }}
	p := pruning{
		all:     []expiring{broken},
		metrics: newRetentionMetrics(prometheus.NewRegistry()),
		log:     zerolog.New(&logged),
	}
	stop := background(
		zerolog.Nop(),
		"prune",
		func(ctx context.Context) error { return atTicks(ctx, tick, func() { p.prune(ctx) }) },
	)
	results <- errors.New("database down")
	tick <- time.Time{}
	results <- nil
	stop()
	if got := logged.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "database down") {
		t.Errorf("logged %q, want one line with the error", got)
	}
}
