package plans

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/freshness"
	"petstore.example/internal/plans/redistest"
)

// simModel is the model as counters that never fail.
type simModel struct{ r *simRedis }

var _ counters = simModel{}

func (m simModel) take(term int64, asks []ask) error {
	for i := range asks {
		m.r.take(term, &asks[i])
	}
	return nil
}

func (m simModel) begin(_ context.Context, term, tenantID int64, b Baseline, changing bool) error {
	m.r.begin(term, tenantID, b, changing)
	return nil
}

func (m simModel) beginKey(_ context.Context, term, tenantID int64, keyID string, minute, used int64) error {
	m.r.beginKey(term, tenantID, keyID, minute, used)
	return nil
}

func (m simModel) refund(_ context.Context, term int64, c *Claim, minute, day int64) error {
	m.r.refund(term, c, minute, day)
	return nil
}

func (m simModel) beginWrite(_ context.Context, term, tenantID int64) (version int64, ok bool, err error) {
	version, ok = m.r.beginWrite(term, tenantID)
	return version, ok, nil
}

func (m simModel) endWrite(_ context.Context, term, tenantID, version int64) error {
	m.r.endWrite(term, tenantID, version)
	return nil
}

func (m simModel) probe(context.Context) (fingerprint string, err error) {
	return m.r.fingerprint(), nil
}

func (m simModel) expect(string) {}

// command is one call, the same to the model and to Redis. It returns what there is to compare.
type command func(ctx context.Context, c counters) (any, error)

// modelClaim returns one of a few keys and limits, which all meet. A tenant's claim has each key either always with a limit or never.
func modelClaim(random *rand.Rand, tenantID int64) Claim {
	c := Claim{TenantID: tenantID, Quota: Quota{PerMinute: 1 + random.Int64N(8), PerDay: 1 + random.Int64N(30)}}
	if key := random.IntN(3); key > 0 {
		c.KeyID, c.KeyPerMinute = fmt.Sprint("key_", key), 1+random.Int64N(6)
	}
	return c
}

// someAsks returns those of one call, by the same tenants again and again and in any order.
func someAsks(random *rand.Rand, tenantIDs []int64, minute, day int64) []ask {
	asks := make([]ask, 1+random.IntN(5))
	for i := range asks {
		tenantID := tenantIDs[random.IntN(len(tenantIDs))]
		again := slices.ContainsFunc(asks[:i], func(k ask) bool { return k.claim.TenantID == tenantID })
		asks[i] = ask{
			claim: modelClaim(random, tenantID), minute: minute + random.Int64N(2), day: day, count: random.Int64N(4), again: again,
		}
	}
	return asks
}

// someCommand returns a random one, of a few terms, keys and windows, so that all of them meet.
func someCommand(random *rand.Rand, tenantIDs []int64, day int64) command {
	term := 1 + random.Int64N(3)
	tenantID := tenantIDs[random.IntN(len(tenantIDs))]
	minute := minuteAt(tenantID, noon) + random.Int64N(3)
	day += max(0, random.Int64N(5)-3)
	c := modelClaim(random, tenantID)
	switch n := random.IntN(20); {
	case n < 10:
		asks := someAsks(random, tenantIDs, minute, day)
		return func(_ context.Context, to counters) (any, error) {
			own := slices.Clone(asks)
			err := to.take(term, own)
			answers := make([]answer, len(own))
			for i := range own {
				answers[i] = own[i].answer
			}
			return answers, err
		}
	case n < 12:
		b := Baseline{Minute: minute, MinuteUsed: random.Int64N(9), Day: day, DayUsed: random.Int64N(9)}
		if random.IntN(9) == 0 {
			b.MinuteUsed = Saturated
		}
		changing := random.IntN(4) == 0
		return func(ctx context.Context, to counters) (any, error) {
			return nil, to.begin(ctx, term, tenantID, b, changing)
		}
	case n < 15:
		id, used := fmt.Sprint("key_", 1+random.IntN(2)), random.Int64N(5)
		return func(ctx context.Context, to counters) (any, error) {
			return nil, to.beginKey(ctx, term, tenantID, id, minute, used)
		}
	case n < 17:
		return func(ctx context.Context, to counters) (any, error) { return nil, to.refund(ctx, term, &c, minute, day) }
	case n < 18:
		return func(ctx context.Context, to counters) (any, error) {
			version, ok, err := to.beginWrite(ctx, term, tenantID)
			return []any{version, ok}, err
		}
	default:
		version := random.Int64N(4)
		return func(ctx context.Context, to counters) (any, error) {
			return nil, to.endWrite(ctx, term, tenantID, version)
		}
	}
}

// TestTheModelIsLikeRedis: what the simulation takes for Redis answers as the scripts do.
func TestTheModelIsLikeRedis(t *testing.T) {
	t.Parallel()
	seed := seeded(t)
	client, err := NewRedisClient(redistest.Shared(t), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	scripts := newRedisCounters(client)
	fingerprint, err := scripts.probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scripts.expect(fingerprint)
	defer scripts.expect("")
	statuses := map[status]int{}
	for tenantID := int64(1); tenantID <= 40; tenantID++ {
		random := rand.New(rand.NewPCG(seed, uint64(tenantID)))
		start := time.Now()
		model := simModel{newSimRedis(func() time.Time { return start })}
		for step := range 150 {
			do := someCommand(random, []int64{tenantID, -tenantID}, DayAt(noon))
			want, _ := do(t.Context(), model)
			got, err := do(t.Context(), scripts)
			if time.Since(start) > freshness.WriteIntentTTL-2*time.Second {
				break // Changes of catalogues may be over by now.
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(answer{}, used{})); diff != "" || err != nil {
				t.Fatalf("tenant %d, step %d: %v, -model +redis:\n%s", tenantID, step, err, diff)
			}
			if answers, ok := got.([]answer); ok {
				statuses[answers[0].status]++
			}
		}
	}
	t.Logf("statuses: %v", statuses)
	for _, s := range []status{counted, unopened, keyUnopened} {
		if statuses[s] < 50 {
			t.Errorf("%d answers of status %d: too few to have shown anything", statuses[s], s)
		}
	}
}
