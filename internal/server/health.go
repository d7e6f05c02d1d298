package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/keys/callers"
	"petstore.example/internal/server/config"
	"petstore.example/internal/store/admin"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/storeclock"
)

const (
	pingTimeout = time.Second
	// pingValidFor is how long the result of a ping is used.
	pingValidFor = 250 * time.Millisecond
)

// health reports whether this server should receive requests, and what it cannot reach.
type health struct {
	operation admin.Operation
	member    *member
	database  pinger
	directory *callers.Directory
	limiter   *rateLimiter
	// term runs until stop is called.
	term     *termWatch
	stop     func()
	clock    *storeclock.Clock
	diskFull func() bool
	found    config.Warnings
	addr     string // the API's address
	stopping atomic.Bool
}

// newHealth returns a health that pings through the member's connections, because requests may use
// all of theirs.
func newHealth(
	operation admin.Operation,
	m *member,
	directory *callers.Directory,
	limiter *rateLimiter,
	found config.Warnings,
	r *registry,
	log zerolog.Logger,
) *health {
	h := &health{
		operation: operation,
		member:    m,
		database:  pinger{ping: m.db.PingWrites},
		directory: directory,
		limiter:   limiter,
		term:      &termWatch{decides: limiter.decides, log: log},
		clock:     m.clock,
		diskFull:  r.diskFull,
		found:     found,
	}
	h.stop = background(log, "watch the term", h.term.run)
	return h
}

// pinger reports whether Postgres answers. Callers share a ping, so that any number of them costs
// at most four a second.
type pinger struct {
	ping func(context.Context) error

	mu    sync.Mutex
	ended time.Time // when the last ping ended; zero before the first
	err   error     // its result
}

// check returns the result of a ping that ended at most pingValidFor ago. Callers that find none
// wait for the same ping.
func (p *pinger) check() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended.IsZero() && time.Since(p.ended) < pingValidFor {
		return p.err
	}
	// This is not a request's context: a client that disconnects must not change the result for the
	// others.
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	p.err = p.ping(ctx)
	p.ended = time.Now()
	return p.err
}

// readiness is the body of /readyz. Status is ready, degraded, unavailable or stopping; the last
// two are answered with 503. A degraded server serves requests, but Redis or the change feed is
// down, or Postgres's disk is full. A server is unavailable if Postgres is down, if there is no
// term to decide limits in, or if only this server can't reach Redis.
//
// Clock is ok, or off if this server's clock is wrong; no decision depends on that. Months is ok, or
// off while no month is enforced, because a server of the last release is alive. The other
// fields are up or down. Database can also be read_only (a standby) or disk_full. Redis can also be
// none (not configured) or cut_off (only this server can't reach it).
type readiness struct {
	Status     string `json:"status"`
	Database   string `json:"database"`
	Redis      string `json:"redis"`
	Term       string `json:"term"`
	ChangeFeed string `json:"change_feed"`
	Clock      string `json:"clock"`
	Months     string `json:"months"`
	// checks are the results of each check, for /readyz?verbose.
	checks map[string]checkResult
}

// serves reports whether requests are served.
func (r readiness) serves() bool { return r.Status == "ready" || r.Status == "degraded" }

//nolint:funlen // one check after the other
func (h *health) readiness() readiness {
	ok := checkResult{Status: "ok"}
	r := readiness{
		Status:     "ready",
		Database:   "up",
		Redis:      h.limiter.state(),
		Term:       "up",
		ChangeFeed: "up",
		Clock:      "ok",
		Months:     "ok",
		checks: map[string]checkResult{
			"database":    ok,
			"redis":       ok,
			"term":        ok,
			"change_feed": ok,
			"clock":       ok,
			"months":      ok,
			"login":       ok,
			"schema":      ok,
			"secrets":     ok,
		},
	}
	for check, message := range h.found {
		r.checks[check] = checkResult{"warn", message}
	}
	if h.clock.Off() {
		r.Clock, r.checks["clock"] = "off", checkResult{"warn", clockOff(h.clock)}
	}
	if h.limiter.noMonths() {
		r.Months = "off"
		r.checks["months"] = checkResult{
			"warn",
			"limits per month are not enforced while a server of the last release is alive",
		}
	}
	if !h.directory.FeedHealthy() {
		r.Status, r.ChangeFeed = "degraded", "down"
		r.checks["change_feed"] = checkResult{
			"warn",
			"this server is not notified of changes to keys, tenants, plans and bans",
		}
	}
	if r.Redis == "down" {
		r.Status = "degraded"
		r.checks["redis"] = checkResult{
			"warn",
			"limits are enforced without Redis: half of the servers or more cannot reach it",
		}
	}
	if h.diskFull() {
		r.Status, r.Database = "degraded", pgconn.DiskFull
		r.checks["database"] = checkResult{"warn", "Postgres refuses writes: its disk is full (53100)"}
	}
	if r.Redis == "cut_off" {
		r.Status = "unavailable"
		r.checks["redis"] = checkResult{
			"fail",
			fmt.Sprintf(
				"only this server can't count in Redis: requests are refused; %s: %v",
				h.limiter.setBy,
				h.limiter.redis.CutOff(),
			),
		}
	}
	if h.term.lost.Load() {
		r.Status, r.Term = "unavailable", "down"
		r.checks["term"] = checkResult{
			"fail",
			"no term is in force on this server, so that it cannot decide over limits: requests are refused",
		}
	}
	if err := h.database.check(); err != nil {
		r.Status, r.Database = "unavailable", "down"
		if pgconn.Reason(err) == pgconn.ReadOnly {
			r.Database = pgconn.ReadOnly
		}
		r.checks["database"] = checkResult{
			"fail",
			"requests are refused: " + strings.ReplaceAll(err.Error(), "\n", "; "),
		}
	}
	if h.stopping.Load() {
		r.Status = "stopping"
	}
	return r
}

// startChecks are the checks that a server makes at its start.
var startChecks = []string{"login", "schema", "secrets", "socket"}

// verbose is the body of /readyz?verbose: the status, and each check by name.
type verbose struct {
	Status string                 `json:"status"`
	Addr   string                 `json:"addr,omitempty"` // the API's address
	Checks map[string]checkResult `json:"checks"`
}

// checkResult has the status ok, warn or fail. Requests are served unless a check fails. The
// message says what is wrong.
type checkResult struct {
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

func (h *health) serveReady(w http.ResponseWriter, req *http.Request) {
	r := h.readiness()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !r.serves() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	var body any = r
	if req.URL.Query().Has("verbose") {
		body = verbose{r.Status, h.addr, r.checks}
	}
	_ = json.NewEncoder(w).Encode(body)
}
