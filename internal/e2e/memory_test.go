package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
)

const megabyte = 1 << 20

// TestMemory: a server that holds 100,000 keys of 10,000 tenants, each of which has called, keeps
// under 60 MB resident. The short form has a twentieth of them, and 45 MB.
func TestMemory(t *testing.T) {
	const keysEach = 10
	tenants, most := 500, int64(45*megabyte)
	if long() {
		tenants, most = 10_000, 60*megabyte
	}
	t.Parallel()
	if os.Getenv("PETSTORE_E2E_RACE") != "" {
		t.Log("the race detector needs several times the memory: nothing to measure")
		return
	}
	d := newDeployment(t, false)
	tokens := insertKeys(d, tenants, keysEach)
	s := d.serve("PETSTORE_PPROF=true")
	empty := status(t, s.PID(), "VmRSS")
	began := time.Now()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	for range 2 { // A machine that has other things to do is asked again.
		answers := sendConcurrently(16, len(tokens), func(_, i int) response {
			return get(&http.Client{Transport: transport, Timeout: timeout}, s.URL+"/pets?limit=1", tokens[i])
		})
		if n := countByCode(answers)["200"]; n < len(tokens)*99/100 {
			t.Errorf("one call of each of %d keys: %v", len(tokens), countByCode(answers))
		} else if n == len(tokens) {
			break
		}
	}
	took := time.Since(began)
	held := s.Metric("petstore_directory_callers")
	busy, peak := status(t, s.PID(), "VmRSS"), status(t, s.PID(), "VmHWM")
	// A burst leaves more behind than is held; a server that rests gives it back.
	rested := time.Now()
	rest := busy
	for rest >= most && time.Since(rested) < 30*time.Second {
		time.Sleep(250 * time.Millisecond) // between two looks
		rest = status(t, s.PID(), "VmRSS")
	}
	t.Logf(
		"%.0f callers held after one call each in %v: %.1f MB resident at the end, at most %.1f MB, %.1f MB after "+
			"%v of rest; started with %.1f MB",
		held,
		took.Round(time.Millisecond),
		megabytes(busy),
		megabytes(peak),
		megabytes(rest),
		time.Since(rested).Round(time.Millisecond),
		megabytes(empty),
	)
	if held < float64(tenants*keysEach) {
		t.Errorf("%.0f callers held, want all", held)
	}
	if rest >= most {
		t.Errorf(
			"%.1f MB resident, want under %.0f MB; heap %.1f MB in use, %.1f MB next collection",
			megabytes(rest),
			megabytes(most),
			s.Metric("go_memstats_heap_inuse_bytes")/megabyte,
			s.Metric("go_memstats_next_gc_bytes")/megabyte,
		)
	}
}

func megabytes(n int64) float64 { return float64(n) / megabyte }

// insertKeys writes tenants and keys as migrations left room for them, a thousand times faster than
// one by one.
func insertKeys(d *deployment, tenants, each int) (tokens []string) {
	d.t.Helper()
	d.exec(`with audited as materialized (select set_config('petstore.audited', 'on', true)), t as (
		  insert into tenants (name, created_at) select 'many-' || n, now() from audited, generate_series(1, $1) n
		      returning id
		)
		insert into tenant_plans (tenant_id, plan) select id, 'business' from t`, tenants)
	var ids, digests, last4 []string
	for range tenants * each {
		token, err := keys.NewToken(keys.Live)
		assert.NoError(d.t, err)
		id, err := keys.NewID()
		assert.NoError(d.t, err)
		digest := token.Digest()
		tokens = append(tokens, token.Reveal())
		ids = append(ids, id)
		digests = append(digests, fmt.Sprintf("%x", digest[:]))
		last4 = append(last4, token.Last4())
	}
	d.exec(`
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select k.id, t.id, 'live', decode(k.digest, 'hex'), k.last4, now()
		from unnest($1::text[], $2::text[], $3::text[]) with ordinality as k (id, digest, last4, n)
		join tenants t on t.name = 'many-' || (1 + (k.n - 1) / $4)`,
		pq.Array(ids), pq.Array(digests), pq.Array(last4), each)
	d.exec(`analyze`)
	return tokens
}

func (d *deployment) exec(query string, args ...any) {
	d.t.Helper()
	_, err := d.sql.ExecContext(d.t.Context(), query, args...)
	assert.NoError(d.t, err, query)
}

// status returns a number of bytes of /proc/pid/status.
func status(t testing.TB, pid int, name string) int64 {
	t.Helper()
	for line := range strings.Lines(programs.Read(t, fmt.Sprintf("/proc/%d/status", pid))) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return n * 1024
			}
		}
	}
	t.Fatalf("no %s of process %d", name, pid)
	return 0
}
