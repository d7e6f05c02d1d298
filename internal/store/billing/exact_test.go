package billing_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/usage"
	"petstore.example/internal/usage/closing"
)

// bucketOf is where requests of the key count at that instant: what caller_of_key says then.
func bucketOf(t *testing.T, o fixture.Office, token keys.Token, at time.Time) usage.Bucket {
	t.Helper()
	c, err := o.API.Keys.Caller(t.Context(), token.Digest(), at)
	assert.NoError(t, err)
	return usage.Bucket{
		TenantID:   c.Tenant.ID,
		KeyID:      c.KeyID,
		Assignment: c.Tenant.Assignment,
		Version:    c.Tenant.Version,
	}
}

// linesOf returns the lines of November.
func linesOf(t *testing.T, o fixture.Office) (lines []closing.Line) {
	t.Helper()
	err := o.Months.Lines(
		t.Context(),
		billing.LineQuery{Month: fixture.November},
		false,
		func(l *closing.Line, _ closing.Hash) error {
			lines = append(lines, *l)
			return nil
		},
	)
	assert.NoError(t, err)
	return lines
}

// TestManyChangesInAMinute: whatever changes follow each other within a minute, of the tenant's
// plans or of a plan's numbers, each line has exactly what was admitted and refused under it, and
// each quota period has a line.
func TestManyChangesInAMinute(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	o := fixture.NewOffice(t)
	o.Tenant(t, "acme", plans.Free)
	key, token := o.Issue(t, "acme")
	changeAtRandom(t, o, random)

	type line struct{ Admitted, Refused int64 }
	want := map[[2]int64]line{}
	m := usage.NewMeter(o.API.Usage, usage.Options{ServerID: "s", Log: zerolog.Nop()})
	for range 1500 {
		at := fixture.Noon.Add(59*time.Minute + time.Duration(random.Int64N(int64(2*time.Minute))))
		b := bucketOf(t, o, token, at)
		l, minute := want[[2]int64{b.Assignment, int64(b.Version)}], at.Unix()/60
		switch random.IntN(4) {
		case 0:
			m.Refused(b, at)
			l.Refused++
		case 1: // it ended in 5xx
			m.Admitted(b, at, minute, usage.Unlimited)
			m.Refunded(b, at, minute)
		default:
			m.Admitted(b, at, minute, usage.Unlimited)
			l.Admitted++
		}
		want[[2]int64{b.Assignment, int64(b.Version)}] = l
		if random.IntN(100) == 0 {
			assert.NoError(t, m.Flush(t.Context()))
		}
	}
	assert.NoError(t, m.Flush(t.Context()))
	got, lines := map[[2]int64]line{}, linesOf(t, o)
	for _, l := range lines {
		if of := (line{l.Admitted, l.Refused}); of != (line{}) {
			got[[2]int64{l.Assignment, l.Version}] = of
		}
	}
	for of, l := range want {
		if l == (line{}) {
			delete(want, of)
		}
	}
	t.Logf("%d lines, %d with usage", len(lines), len(got))
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 5 {
		t.Errorf("(-counted +billed):\n%s", diff)
	}
	all, err := o.Timelines.Periods(t.Context(), key.TenantID, time.Time{})
	assert.Result(t, len(all), err, len(lines), "periods lines")
	for i, p := range all[1:] {
		if !p.From.Equal(all[i].To) {
			t.Errorf("period %d ends at %v, and the next begins at %v", i, all[i].To, p.From)
		}
	}
}

// changeAtRandom schedules changes of the tenant's plans and of the numbers of pro and business
// within two minutes.
func changeAtRandom(t *testing.T, o fixture.Office, random *rand.Rand) {
	t.Helper()
	version, generation, last := map[string]int{
		plans.Pro:      1,
		plans.Business: 1,
	}, map[string]int{
		plans.Pro:      1,
		plans.Business: 1,
	}, fixture.Noon.Add(59*time.Minute)
	for range 60 {
		at := last.Add(time.Duration(1+random.Int64N(int64(4*time.Second/time.Microsecond))) * time.Microsecond)
		last = at
		plan := []string{plans.Pro, plans.Business}[random.IntN(2)]
		if random.IntN(2) == 0 {
			version[plan]++
			generation[plan] += random.IntN(2)
			o.Exec(
				t,
				`insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day) values ($1,
					$2, $3, $4, $5, 100000)`,
				plan,
				version[plan],
				generation[plan],
				at,
				random.Int64N(100_000)+1,
			)
			continue
		}
		var own *plans.Quota
		if random.IntN(3) == 0 {
			plan, own = plans.Enterprise, &plans.Quota{PerMinute: 1 + random.Int64N(1000), PerDay: 1000}
		}
		_, _, err := fixture.AssignPlan(t.Context(), o.DB, fixture.Jo, "acme", plan, own, at)
		assert.NoError(t, err)
	}
}

// TestUsageOfARemovedAssignment: what a server counted under an assignment that was removed
// meanwhile is not lost. It goes to what was in force, and a refund of it too.
func TestUsageOfARemovedAssignment(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k := db.Key(t, 1)
	gone := fixture.Count(k.TenantID, k.ID, time.Now(), 5, 2)
	gone.Assignment = 4711
	refund := fixture.Count(k.TenantID, k.ID, time.Now(), -1, 0)
	refund.Assignment = gone.Assignment
	fixture.WriteUsage(
		t,
		db.API,
		usage.Batch{
			ServerID: "s",
			Number:   1,
			Counts:   []usage.Count{gone, fixture.Count(k.TenantID, k.ID, time.Now(), 3, 0)},
		},
		usage.Batch{ServerID: "s", Number: 2, Counts: []usage.Count{refund}},
	)
	var got []billing.UsageRow
	db.Rows(t, &got, `select sum(admitted)::bigint as admitted, sum(refused)::bigint as refused from usage_hourly
		join tenant_plans a on a.id = assignment where a.tenant_id = $1 and usage_hourly.tenant_id = $1`, k.TenantID)
	assert.DeepEqual(t, got, []billing.UsageRow{{Admitted: 7, Refused: 2}})
}
