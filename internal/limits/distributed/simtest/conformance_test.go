package simtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
)

// simModel is the model as a Backend that never fails.
type simModel struct{ r *simRedis }

var _ distributed.Backend = simModel{}

func (m simModel) Take(term int64, over []distributed.WriteIntent, requests []distributed.Request) error {
	return m.r.take(term, over, requests)
}

func (m simModel) InitTenant(_ context.Context, term, tenantID int64, b counter.Baseline, changing bool) error {
	return m.r.initTenant(term, tenantID, b, changing)
}

func (m simModel) InitKey(_ context.Context, term, tenantID int64, keyID string, minute, used int64) error {
	m.r.initKey(term, tenantID, keyID, minute, used)
	return nil
}

func (m simModel) Refund(_ context.Context, term int64, c *limits.Claim, minute, day, month int64) error {
	m.r.refund(term, c, minute, day, month)
	return nil
}

func (m simModel) BeginWrite(_ context.Context, term, tenantID int64) (version int64, ok bool, err error) {
	return m.r.beginWrite(term, tenantID)
}

func (m simModel) Ping(context.Context) (fingerprint string, err error) {
	return m.r.fingerprint(), nil
}

func (m simModel) Pin(string) {}

func (m simModel) Listen(context.Context, distributed.RefundListener) {}

// command is one call, the same to the model and to Redis. It returns what there is to compare.
type command func(ctx context.Context, c distributed.Backend) (any, error)

var modelMonth = limits.MonthAt(limitstest.Noon)

// modelClaim returns one of a few keys and limits, which all meet. A tenant's claim has each key
// either always with a limit or never.
func modelClaim(random *rand.Rand, tenantID int64) limits.Claim {
	c := limits.Claim{
		TenantID: tenantID,
		Quota:    plans.Quota{PerMinute: 1 + random.Int64N(8), PerDay: 1 + random.Int64N(30)},
	}
	if random.IntN(2) == 0 {
		c.Quota.Month = limitstest.Month(random, 40)
	}
	if key := random.IntN(3); key > 0 {
		c.KeyID, c.KeyPerMinute = fmt.Sprint("key_", key), 1+random.Int64N(6)
	}
	return c
}

// someRequests returns those of one call, by the same tenants again and again and in any order.
func someRequests(random *rand.Rand, tenantIDs []int64, minute, day int64) []distributed.Request {
	requests := make([]distributed.Request, 1+random.IntN(5))
	for i := range requests {
		tenantID := tenantIDs[random.IntN(len(tenantIDs))]
		again := slices.ContainsFunc(
			requests[:i],
			func(k distributed.Request) bool { return k.Claim.TenantID == tenantID },
		)
		requests[i] = distributed.Request{
			Claim: modelClaim(
				random,
				tenantID,
			),
			Minute:     minute + random.Int64N(2),
			Day:        day,
			Count:      random.Int64N(4),
			SameTenant: again,
		}
		requests[i].Month = requests[i].Claim.Counts(modelMonth + max(0, random.Int64N(5)-3))
		if random.IntN(2) == 0 {
			requests[i].Writes = min(requests[i].Count, 1)
		}
	}
	return requests
}

// someIntents returns those that a call removes. Some are there.
func someIntents(random *rand.Rand, tenantIDs []int64) []distributed.WriteIntent {
	over := make([]distributed.WriteIntent, max(0, random.IntN(6)-3))
	for i := range over {
		over[i] = distributed.WriteIntent{TenantID: tenantIDs[random.IntN(len(tenantIDs))], Version: random.Int64N(12)}
	}
	return over
}

// someCommand returns a random one, of a few terms, keys and windows, so that all of them meet.
func someCommand(random *rand.Rand, tenantIDs []int64, day int64) command {
	term := 1 + random.Int64N(3)
	tenantID := tenantIDs[random.IntN(len(tenantIDs))]
	minute := limits.MinuteAt(tenantID, limitstest.Noon) + random.Int64N(3)
	day += max(0, random.Int64N(5)-3)
	c := modelClaim(random, tenantID)
	switch n := random.IntN(20); {
	case n < 10:
		requests, over := someRequests(random, tenantIDs, minute, day), someIntents(random, tenantIDs)
		return func(_ context.Context, to distributed.Backend) (any, error) {
			own := slices.Clone(requests)
			err := to.Take(term, over, own)
			answers := make([]distributed.Reply, len(own))
			for i := range own {
				answers[i] = own[i].Reply
			}
			return answers, err
		}
	case n < 12:
		b := counter.Baseline{
			Minute:       minute,
			MinuteUsed:   random.Int64N(9),
			Day:          day,
			DayUsed:      random.Int64N(9),
			LatestMinute: minute + random.Int64N(3),
			LatestDay:    day + random.Int64N(2),
			Month:        modelMonth + max(0, random.Int64N(5)-3),
			MonthUsed:    random.Int64N(9),
			LatestMonth:  modelMonth + random.Int64N(3),
		}
		changing := random.IntN(4) == 0
		return func(ctx context.Context, to distributed.Backend) (any, error) {
			return nil, to.InitTenant(ctx, term, tenantID, b, changing)
		}
	case n < 15:
		id, used := fmt.Sprint("key_", 1+random.IntN(2)), random.Int64N(5)
		return func(ctx context.Context, to distributed.Backend) (any, error) {
			return nil, to.InitKey(ctx, term, tenantID, id, minute, used)
		}
	case n < 17:
		month := c.Counts(modelMonth + max(0, random.Int64N(5)-3))
		return func(ctx context.Context, to distributed.Backend) (any, error) {
			return nil, to.Refund(ctx, term, &c, minute, day, month)
		}
	case n < 18:
		return func(ctx context.Context, to distributed.Backend) (any, error) {
			version, ok, err := to.BeginWrite(ctx, term, tenantID)
			return []any{version, ok}, err
		}
	default:
		over := someIntents(random, tenantIDs)
		return func(_ context.Context, to distributed.Backend) (any, error) {
			return nil, to.Take(term, over, nil)
		}
	}
}

// TestTheModelIsLikeRedis: the simulation's model of Redis replies as the scripts do.
func TestTheModelIsLikeRedis(t *testing.T) {
	t.Parallel()
	seed := limitstest.Seeded(t)
	client, err := redisbackend.NewClient(redistest.Shared(t), time.Minute)
	assert.NoError(t, err)
	t.Cleanup(func() {
		assert.Equal(t, client.Close(), nil)
	})
	scripts := redisbackend.New(client)
	fingerprint, err := scripts.Ping(t.Context())
	assert.NoError(t, err)
	scripts.Pin(fingerprint)
	defer scripts.Pin("")
	statuses, later, intents := map[distributed.Status]int{}, 0, 0
	for tenantID := int64(1); tenantID <= 40; tenantID++ {
		random := rand.New(rand.NewPCG(seed, uint64(tenantID)))
		start := time.Now()
		model := simModel{newSimRedis(func() time.Time { return start })}
		for step := range 150 {
			do := someCommand(random, []int64{tenantID, -tenantID}, limits.DayAt(limitstest.Noon))
			want, expected := do(t.Context(), model)
			got, err := do(t.Context(), scripts)
			if time.Since(start) > freshness.WriteIntentTTL-2*time.Second {
				break // Changes of catalogues may be over by now.
			}
			if diff := cmp.Diff(
				want,
				got,
				cmp.AllowUnexported(distributed.Reply{}, limits.Used{}),
			); diff != "" ||
				!errors.Is(err, expected) {
				t.Fatalf("tenant %d, step %d: %v, want %v, -model +redis:\n%s", tenantID, step, err, expected, diff)
			}
			if err != nil {
				later++
			}
			if answers, ok := got.([]distributed.Reply); ok {
				statuses[answers[0].Status]++
				for i := range answers {
					intents += int(min(answers[i].Intent, 1))
				}
			}
		}
	}
	t.Logf("statuses: %v, of a later term: %d, write intents left by Take: %d", statuses, later, intents)
	assert.True(t, intents >= 50, intents, "write intents: too few to have reported anything")
	assert.True(t, later >= 50, later, "calls found a later term: too few to have reported anything")
	for _, s := range []distributed.Status{distributed.Counted, distributed.Uninitialized,
		distributed.KeyUninitialized} {
		assert.True(t, statuses[s] >= 50, statuses[s], "answers of status", s, ": too few to have reported anything")
	}
}
