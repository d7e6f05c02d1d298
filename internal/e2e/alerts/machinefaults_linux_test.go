package alerts_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/wait"
)

// faults are those that a server does not see, or not alone. make test has the short ones, make
// soak all.
func (m *machines) faults() []fault {
	short := []fault{
		{
			name: "the disk of Postgres is full", check: "reports", alerts: []string{"PetstoreDiskFull 1"},
			make: func(*deployment) { m.free = m.primary.FillDisk(m.t, "pets") }, mend: func(*deployment) { m.free() },
		},
		{
			name: "Redis evicts", alerts: []string{"PetstoreRedisEvicts 1"},
			make: func(*deployment) {
				for i := range 300 {
					m.redisDo("SET", "junk"+strconv.Itoa(i), strings.Repeat("x", 10_000))
				}
				m.redisDo("CONFIG", "SET", "maxmemory-policy", "allkeys-random", "maxmemory", m.redisUsed()-1_000_000)
			},
			mend: func(*deployment) { m.redisDo("CONFIG", "SET", "maxmemory", 0) },
		},
		{
			name:   "no server answers nginx",
			check:  "servers",
			alerts: []string{"PetstoreEdgeDown 1", "PetstoreEdgeErrors 1", "PetstoreServerDown 2"},
			make:   func(*deployment) { m.servers[0].Kill(); m.servers[1].Kill() },
			mend:   func(*deployment) { m.start(0); m.start(1) },
		},
	}
	if os.Getenv("PETSTORE_SOAK") == "" {
		return short
	}
	full := func() string { return filepath.Join("/proc", strconv.Itoa(m.node.PID()), "root", m.disk, "full") }
	return append(short,
		fault{
			name: "a server is killed four times", alerts: []string{"PetstoreRestarts 1"},
			make: func(*deployment) {
				for range 4 {
					m.servers[1].Kill()
					m.servers[1] = programs.Launch(m.t, programs.Path(m.t, "petstore"), m.env[1]...)
					time.Sleep(time.Second) // Prometheus looks twice meanwhile
				}
			},
			mend: func(*deployment) { m.servers[1].AwaitReady() },
		},
		fault{
			name: "certificates end in a day", alerts: []string{"PetstoreCertificateEnds 2"},
			make: func(*deployment) { m.certify(1) }, mend: func(*deployment) { m.certify(400) },
		},
		fault{
			name: "a disk is nearly full", alerts: []string{"PetstoreDiskFillsUp 1"},
			make: func(*deployment) { assert.NoError(m.t, os.WriteFile(full(), make([]byte, 3_900_000), 0o600)) },
			mend: func(*deployment) { assert.NoError(m.t, os.Remove(full())) },
		},
		fault{
			name: "a standby is frozen, and 80 MB are written", alerts: []string{"PetstoreReplicationLag 1"},
			make: func(*deployment) {
				m.standby.Pause()
				m.exec(
					`select pg_logical_emit_message(false, 'petstore', repeat('x', 1000000)) from generate_series(1,
						80)`,
				)
			},
			mend: func(*deployment) { m.standby.Resume() },
		},
		fault{
			name: "a standby is stopped", alerts: []string{"PetstoreStandbyLost 1"},
			make: func(*deployment) { m.standby.Stop() }, mend: func(*deployment) { m.standby.Start() },
		},
		fault{
			name: "Redis is nearly full", alerts: []string{"PetstoreRedisMemory 1"},
			make: func(*deployment) {
				m.redisDo("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", m.redisUsed()*100/94)
			},
			mend: func(*deployment) { m.redisDo("CONFIG", "SET", "maxmemory", 0) },
		},
		fault{
			name: "an exporter is killed", alerts: []string{"PetstoreExporterDown 1"},
			make: func(*deployment) { m.exporter.Kill() }, mend: func(*deployment) { m.exporter = m.redisExporter() },
		},
	)
}

func (m *machines) redisDo(args ...any) {
	m.t.Helper()
	assert.NoError(m.t, m.redisClient.Do(m.t.Context(), args...).Err(), args[0])
}

// redisUsed returns used_memory.
func (m *machines) redisUsed() int {
	m.t.Helper()
	text, err := m.redisClient.Info(m.t.Context(), "memory").Result()
	assert.NoError(m.t, err)
	_, text, _ = strings.Cut(text, "used_memory:")
	text, _, _ = strings.Cut(text, "\r\n")
	n, err := strconv.Atoi(text)
	assert.NoError(m.t, err, "used_memory")
	return n
}

// TestAlertsOfMachinesFireAndEnd makes one fault after the other. At the end only a standby is
// left, and is promoted: /readyz and the alert say so.
func TestAlertsOfMachinesFireAndEnd(t *testing.T) {
	t.Parallel()
	m, p := newMachines(t)
	m.load()
	p.reaches(len(m.servers))
	m.try(p, m.faults())

	began := time.Now()
	m.primary.Kill()
	wait.Until(t, "/readyz tells of a standby", func() bool {
		r := m.servers[0].Ready()
		return r.HTTP == http.StatusServiceUnavailable && r.Status == "unavailable" && r.Database == "read_only"
	})
	t.Logf("/readyz after %v", time.Since(began).Round(10*time.Millisecond))
	wait.Until(t, "/readyz?verbose says why", func() bool {
		_, body := m.servers[0].Ask("/readyz?verbose")
		return strings.Contains(string(body), "a standby, which takes no writes")
	})
	only := fault{name: "only a standby", alerts: []string{"PetstoreDatabaseDown 2"}}
	assert.True(t, fires(t, p, only), "PetstoreDatabaseDown")
	var summary string
	wait.Until(t, "the alert says why", func() bool {
		summary = p.summary("PetstoreDatabaseDown")
		return strings.Contains(summary, "read_only")
	})
	t.Logf("%q after %v", summary, time.Since(began).Round(100*time.Millisecond))
	m.standby.Promote()
	ends(t, p, only)
}
