package pgconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
)

// laggard is how long race waits for the other hosts once one has a writable session. Another one
// may have been promoted later.
const laggard = 250 * time.Millisecond

// hosts are the hosts of a URL that has several and wants a writable session. lib/pq tries one
// after another. So a host that hangs holds up each new connection, and a former primary that comes
// back is taken for the primary. Here all are tried at once, and the host that was promoted last is
// used until it fails.
type hosts struct {
	open func(context.Context, *host) (*session, error)
	all  []*host

	mu     sync.Mutex
	chosen *host
	lost   bool // chosen hung
	// timeline is the latest timeline seen. Each promotion begins one.
	timeline int64
}

type host struct {
	*pq.Connector
	of   *hosts
	name string
	// setting is the host as part of a connection string.
	setting string
	// left counts how often the host hung, or another was chosen. Earlier sessions are not used
	// again.
	left atomic.Int64
}

// newHosts returns nil if the URL has one host, or does not want a writable session.
func newHosts(cfg pq.Config, dialer Dialer) (*hosts, error) {
	attrs := cfg.TargetSessionAttrs
	if len(cfg.Multi) == 0 || attrs != pq.TargetSessionAttrsReadWrite && attrs != pq.TargetSessionAttrsPrimary {
		return nil, nil
	}
	cfg.TargetSessionAttrs = pq.TargetSessionAttrsAny // connector.begin checks the session
	h := &hosts{}
	first := pq.ConfigMultihost{Host: cfg.Host, Hostaddr: cfg.Hostaddr, Port: cfg.Port}
	for _, m := range append([]pq.ConfigMultihost{first}, cfg.Multi...) {
		one := cfg.Clone()
		one.Host, one.Hostaddr, one.Port, one.Multi = m.Host, m.Hostaddr, m.Port, nil
		connector, err := NewConnector(one, dialer)
		if err != nil {
			return nil, err
		}
		setting := fmt.Sprintf("%s host=%s port=%d", anyState, quoteSetting(m.Host), m.Port)
		if m.Hostaddr.IsValid() {
			setting += " hostaddr=" + m.Hostaddr.String()
		}
		name := net.JoinHostPort(m.Host, strconv.Itoa(int(m.Port)))
		h.all = append(h.all, &host{Connector: connector, of: h, name: name, setting: setting})
	}
	return h, nil
}

// current returns the host that was chosen last, nil for none. lost says whether it has hung since.
func (h *hosts) current() (chosen *host, lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.chosen, h.lost
}

// hung makes the next connection look for the writable host.
func (o *host) hung() {
	o.left.Add(1)
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	o.of.lost = o.of.lost || o.of.chosen == o
}

// choose sends the next connections to the session's host. It refuses and closes a session whose
// host was promoted earlier than another that was seen.
func (h *hosts) choose(s *session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.timeline < h.timeline {
		go opened{session: s}.close() // Closing may take a while.
		return unavailableError{
			fmt.Errorf("%s takes writes, but another host was promoted later: make it a standby", s.host.name),
		}
	}
	if h.chosen != nil && h.chosen != s.host {
		h.chosen.left.Add(1)
	}
	h.chosen, h.lost, h.timeline = s.host, false, s.timeline
	return nil
}

// connect opens a session on the host in use, or else on the host that race finds.
func (h *hosts) connect(ctx context.Context) (*session, error) {
	if one, lost := h.current(); one != nil && !lost {
		if s, err := h.open(ctx, one); err == nil && h.choose(s) == nil {
			return s, nil
		}
	}
	return h.race(ctx)
}

// race opens a session on each host, and returns the session of the host that was promoted last.
func (h *hosts) race(ctx context.Context) (*session, error) {
	sessions := make(chan opened, len(h.all))
	for _, one := range h.all {
		go func() {
			s, err := h.open(ctx, one)
			sessions <- opened{s, err}
		}()
	}
	var (
		best *session
		errs []error
		late <-chan time.Time
	)
	under := len(h.all)
	for waits := true; waits && under > 0; {
		select {
		case got := <-sessions:
			under--
			if got.err != nil {
				errs = append(errs, got.err)
			} else if best == nil || got.timeline > best.timeline {
				best, got.session = got.session, best
				late = time.After(laggard)
			}
			got.close()
		case <-late:
			waits = false
		case <-ctx.Done():
			errs, waits = append(errs, ctx.Err()), false
		}
	}
	go func() {
		for range under {
			(<-sessions).close()
		}
	}()
	if best == nil {
		return nil, unavailableError{errors.Join(errs...)}
	}
	if err := h.choose(best); err != nil {
		return nil, err
	}
	return best, nil
}

// timelineColumn is a column of stateQuery, 0 on a standby.
const timelineColumn = `, case when pg_is_in_recovery() then 0
	else ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint end`
