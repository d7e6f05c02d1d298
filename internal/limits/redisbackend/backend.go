package redisbackend

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/limits/distributed"
)

// Backend counts by scripts. Its client checks that each connection reaches the pinned Redis: the
// same process, which has been a master ever since. A fingerprint also names the layout by which
// this program counts, and the database.
type Backend struct {
	client *Client
	// pinned is the client for the pinned Redis; nil for none.
	pinned atomic.Pointer[redis.UniversalClient]
}

var _ distributed.Backend = (*Backend)(nil)

// New returns a Backend over that client, which the caller closes.
func New(client *Client) *Backend { return &Backend{client: client} }

var (
	errUnexpected = errors.New("redis: unexpected reply")
	errNotPinned  = errors.New("redis: not pinned to a process yet")
)

// Take implements distributed.Backend.
func (s *Backend) Take(term int64, over []distributed.WriteIntent, requests []distributed.Request) error {
	c := s.pinned.Load()
	if c == nil {
		return errNotPinned
	}
	ctx, cancel := context.WithTimeout(context.Background(), distributed.CallTimeouts*s.client.options.ReadTimeout)
	defer cancel()
	if _, isCluster := (*c).(*redis.ClusterClient); isCluster && len(over)+len(requests) > 1 {
		return takeEach(ctx, *c, term, over, requests)
	}
	keys, args := packTake(term, over, requests)
	return readTake(takeScript.Run(ctx, *c, keys, args...), term, requests)
}

// takeEach is Take for a Redis cluster, where tenants are on different nodes: each write and each
// claim has a script call of its own.
func takeEach(
	ctx context.Context,
	client redis.UniversalClient,
	term int64,
	over []distributed.WriteIntent,
	requests []distributed.Request,
) error {
	// The i-th call ends one write, or has one request.
	part := func(i int) ([]distributed.WriteIntent, []distributed.Request) {
		if i < len(over) {
			return over[i : i+1], nil
		}
		i -= len(over)
		return nil, requests[i : i+1]
	}
	pipe := client.Pipeline()
	cmds := make([]*redis.Cmd, len(over)+len(requests))
	for i := range cmds {
		over, requests := part(i)
		keys, args := packTake(term, over, requests)
		cmds[i] = takeScript.EvalSha(ctx, pipe, keys, args...)
	}
	if _, err := pipe.Exec(ctx); err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
		return err
	}
	for i := range cmds {
		over, requests := part(i)
		if redis.HasErrorPrefix(cmds[i].Err(), "NOSCRIPT") {
			keys, args := packTake(term, over, requests)
			cmds[i] = takeScript.Eval(ctx, client, keys, args...)
		}
		if err := readTake(cmds[i], term, requests); err != nil {
			return err
		}
	}
	return nil
}

func readTake(cmd *redis.Cmd, term int64, requests []distributed.Request) error {
	reply, err := cmd.Text()
	if err != nil {
		return err
	}
	return unpackTake([]byte(reply), term, requests)
}

// run runs a script on the pinned Redis.
func (s *Backend) run(ctx context.Context, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	c := s.pinned.Load()
	if c == nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(errNotPinned)
		return cmd
	}
	return script.Run(ctx, *c, keys, args...)
}

// InitTenant implements distributed.Backend.
func (s *Backend) InitTenant(ctx context.Context, term, tenantID int64, b counter.Baseline, changing bool) error {
	var c int64
	if changing {
		c = 1
	}
	args := pack(term, b.Minute, b.MinuteUsed, b.Day, b.DayUsed, b.Month, b.MonthUsed,
		b.LatestMinute, b.LatestDay, b.LatestMonth, c)
	later, err := s.run(ctx, initTenantScript, []string{tenantKey(tenantID)}, args, intentSeconds).Int64()
	if err == nil && later > 0 {
		err = distributed.LaterTermError{Term: later}
	}
	return err
}

// InitKey implements distributed.Backend.
func (s *Backend) InitKey(ctx context.Context, term, tenantID int64, keyID string, minute, used int64) error {
	return s.run(ctx, initKeyScript, []string{tenantKey(tenantID)}, appendName(pack(term, minute, used), keyID)).Err()
}

// Refund implements distributed.Backend.
func (s *Backend) Refund(ctx context.Context, term int64, c *limits.Claim, minute, day, month int64) error {
	args := pack(term, minute, day, month)
	if c.KeyPerMinute > 0 {
		args = appendName(args, c.KeyID)
	}
	return s.run(ctx, refundScript, []string{tenantKey(c.TenantID)}, args, c.TenantID, refundsChannel).Err()
}

const intentSeconds = int(freshness.WriteIntentTTL / time.Second)

// BeginWrite implements distributed.Backend.
func (s *Backend) BeginWrite(ctx context.Context, term, tenantID int64) (version int64, ok bool, err error) {
	version, err = s.run(ctx, beginWriteScript, []string{tenantKey(tenantID)}, pack(term), intentSeconds).Int64()
	if err == nil && version < 0 {
		err = distributed.LaterTermError{Term: -version}
	}
	return max(0, version), version > 0, err
}

// pingKeys is the number of keys that a ping writes in a cluster, enough for each master to have
// some.
const pingKeys = 16

// pingKeysOf returns the number of keys that a ping through that client writes.
func pingKeysOf(client redis.UniversalClient) int {
	if _, ok := client.(*redis.ClusterClient); ok {
		return pingKeys
	}
	return 1
}

// Ping implements distributed.Backend. It writes on every master.
func (s *Backend) Ping(ctx context.Context) (fingerprint string, err error) {
	client := s.reach()
	if cluster, ok := client.(*redis.ClusterClient); ok {
		// This is first, because it tells the client which nodes are masters.
		fingerprint, err = clusterProcesses(ctx, cluster)
	} else {
		fingerprint, err = processOf(ctx, client)
	}
	for i := 0; err == nil && i < pingKeysOf(client); i++ {
		err = pingScript.Run(ctx, client, []string{pingKey(i)}, refundsChannel).Err()
	}
	s.client.conns.leave(err)
	return s.place() + fingerprint, err
}
