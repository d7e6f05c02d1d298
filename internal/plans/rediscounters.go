package plans

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/freshness"
)

var (
	//go:embed take.lua
	takeSource string
	//go:embed begin.lua
	beginSource string
	//go:embed beginkey.lua
	beginKeySource string
	//go:embed refund.lua
	refundSource string
	//go:embed beginwrite.lua
	beginWriteSource string
	//go:embed endwrite.lua
	endWriteSource string
	//go:embed probe.lua
	probeSource string

	takeScript       = redis.NewScript(takeSource)
	beginScript      = redis.NewScript(beginSource)
	beginKeyScript   = redis.NewScript(beginKeySource)
	refundScript     = redis.NewScript(refundSource)
	beginWriteScript = redis.NewScript(beginWriteSource)
	endWriteScript   = redis.NewScript(endWriteSource)
	probeScript      = redis.NewScript(probeSource)
)

// redisCounters counts by scripts. Calls go through a client whose every connection was seen to reach the expected Redis: a
// process that was started again, or a replica that took over, has another run id.
type redisCounters struct {
	client *RedisClient
	// checked is the client for the expected Redis; nil when any is let be.
	checked atomic.Pointer[redis.UniversalClient]
}

var _ counters = (*redisCounters)(nil)

func newRedisCounters(client *RedisClient) *redisCounters { return &redisCounters{client: client} }

var (
	errUnexpected   = errors.New("redis: a reply of an unexpected form")
	errNoneExpected = errors.New("redis: nobody knows yet which one it is")
)

// take implements counters.
func (s *redisCounters) take(term int64, asks []ask) error {
	c := s.checked.Load()
	if c == nil {
		return errNoneExpected
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.client.options.DialTimeout)
	defer cancel()
	if _, isCluster := (*c).(*redis.ClusterClient); isCluster && len(asks) > 1 {
		return takeEach(ctx, *c, term, asks)
	}
	keys, args := packed(term, asks)
	reply, err := evaluate(ctx, *c, takeScript, keys, args)
	if err != nil {
		return err
	}
	return readReply(reply, term, asks)
}

// takeEach takes in a cluster, which has the tenants on different nodes: each of them is a script of its own there.
func takeEach(ctx context.Context, client redis.UniversalClient, term int64, asks []ask) error {
	pipe := client.Pipeline()
	cmds := make([]*redis.Cmd, len(asks))
	for i := range asks {
		keys, args := packed(term, asks[i:i+1])
		cmds[i] = takeScript.EvalSha(ctx, pipe, keys, args)
	}
	if _, err := pipe.Exec(ctx); err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
		return err
	}
	for i := range asks {
		reply, err := cmds[i].Result()
		if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			keys, args := packed(term, asks[i:i+1])
			reply, err = takeScript.Eval(ctx, client, keys, args).Result()
		}
		if err == nil {
			err = readReply(reply, term, asks[i:i+1])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readReply(reply any, term int64, asks []ask) error {
	text, ok := reply.(string)
	if !ok {
		return errUnexpected
	}
	return read([]byte(text), term, asks)
}

// run runs a script on the expected Redis.
func (s *redisCounters) run(ctx context.Context, script *redis.Script, keys []string, args ...any) (any, error) {
	c := s.checked.Load()
	if c == nil {
		return nil, errNoneExpected
	}
	return evaluate(ctx, *c, script, keys, args...)
}

// evaluate runs a script, which Redis need not know yet.
func evaluate(ctx context.Context, client redis.UniversalClient, s *redis.Script, keys []string, args ...any) (any, error) {
	return s.Run(ctx, client, keys, args...).Result()
}

func (s *redisCounters) begin(ctx context.Context, term, tenantID int64, b Baseline, changing bool) error {
	var c int64
	if changing {
		c = 1
	}
	args := pack(term, b.Minute, b.MinuteUsed, b.Day, b.DayUsed, c)
	_, err := s.run(ctx, beginScript, []string{tenantKey(tenantID)}, args, intentSeconds)
	return err
}

func (s *redisCounters) beginKey(ctx context.Context, term, tenantID int64, keyID string, minute, used int64) error {
	_, err := s.run(ctx, beginKeyScript, []string{ownKey(tenantID, keyID)}, pack(term, minute, used))
	return err
}

func (s *redisCounters) refund(ctx context.Context, term int64, c *Claim, minute, day int64) error {
	_, err := s.run(ctx, refundScript, appendClaimKeys(nil, c), pack(term, minute, day), c.TenantID)
	return err
}

func (s *redisCounters) beginWrite(ctx context.Context, term, tenantID int64) (version int64, ok bool, err error) {
	reply, err := s.run(ctx, beginWriteScript, []string{tenantKey(tenantID)}, pack(term), intentSeconds)
	if err != nil {
		return 0, false, err
	}
	version, ok = reply.(int64)
	if !ok {
		return 0, false, errUnexpected
	}
	return version, version != 0, nil
}

func (s *redisCounters) endWrite(ctx context.Context, term, tenantID, version int64) error {
	_, err := s.run(ctx, endWriteScript, []string{tenantKey(tenantID)}, pack(term, version))
	return err
}

const intentSeconds = int(freshness.WriteIntentTTL / time.Second)

// probed is how many places of a cluster a probe writes to, so many that each master has some.
const probed = 16

// probe writes on every master, and returns their run ids.
func (s *redisCounters) probe(ctx context.Context) (fingerprint string, err error) {
	client, places := s.reach(), 1
	if cluster, ok := client.(*redis.ClusterClient); ok {
		// First, for it has the client learn who the masters are.
		fingerprint, err = clusterRunIDs(ctx, cluster)
		places = probed
	} else {
		fingerprint, err = runID(ctx, client)
	}
	for i := 0; err == nil && i < places; i++ {
		_, err = evaluate(ctx, client, probeScript, []string{"pst:{probe" + strconv.Itoa(i) + "}"})
	}
	return fingerprint, err
}

// runID asks a server who it is, and whether it is a master.
func runID(ctx context.Context, client interface {
	Info(ctx context.Context, section ...string) *redis.StringCmd
}) (string, error) {
	info, err := client.Info(ctx).Result()
	if err != nil {
		return "", err
	}
	id, role := field(info, "run_id:"), field(info, "role:")
	if id == "" || role != "master" {
		return "", fmt.Errorf("redis: %q is not a master's role", role)
	}
	return id, nil
}

func field(info, name string) string {
	_, rest, _ := strings.Cut(info, "\n"+name)
	value, _, _ := strings.Cut(rest, "\r")
	return value
}
