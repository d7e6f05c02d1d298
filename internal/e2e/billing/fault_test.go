package billing_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/usage"
)

// unreliable fails now and then, before it has written or after.
type unreliable struct {
	usage.Store
	random *rand.Rand
}

func (u *unreliable) of(s usage.Store) usage.Store {
	u.Store = s
	return u
}

// WriteUsage implements usage.Store.
func (u *unreliable) WriteUsage(ctx context.Context, b usage.Batch) error {
	switch u.random.IntN(8) {
	case 0:
		return usage.ErrUnavailable
	case 1:
		return errors.Join(u.Store.WriteUsage(ctx, b), usage.ErrUnavailable)
	}
	return u.Store.WriteUsage(ctx, b)
}

// faulty writes something else than a server counted.
type faulty struct {
	usage.Store
	write func(ctx context.Context, f *faulty, b usage.Batch) error
	// done is how often it did.
	done int
}

func (f *faulty) of(s usage.Store) usage.Store {
	f.Store = s
	return f
}

// WriteUsage implements usage.Store.
func (f *faulty) WriteUsage(ctx context.Context, b usage.Batch) error { return f.write(ctx, f, b) }

// byHour puts all that a tenant used in an hour under one assignment, as if by the name of the plan
// that it has then.
func byHour(ctx context.Context, f *faulty, b usage.Batch) error {
	last := map[[2]int64]usage.Bucket{}
	for _, c := range b.Counts {
		last[[2]int64{c.TenantID, c.Hour}] = c.Bucket
	}
	for i, c := range b.Counts {
		if l := last[[2]int64{c.TenantID, c.Hour}]; l != c.Bucket && c.Admitted+c.Refused > 0 {
			b.Counts[i].Assignment, b.Counts[i].Version = l.Assignment, l.Version
			f.done++
		}
	}
	return f.Store.WriteUsage(ctx, b)
}

// lose loses one batch.
func lose(ctx context.Context, f *faulty, b usage.Batch) error {
	for i, c := range b.Counts {
		if f.done == 0 && b.Number%3 == 0 && c.Admitted > 0 {
			f.done++
			b.Counts = b.Counts[:i]
			break
		}
	}
	return f.Store.WriteUsage(ctx, b)
}

// repeat writes one batch twice, as if it were of two servers.
func repeat(ctx context.Context, f *faulty, b usage.Batch) error {
	if f.done == 0 && len(b.Counts) > 0 {
		f.done++
		again := b
		again.ServerID += "-again"
		if err := f.Store.WriteUsage(ctx, again); err != nil {
			return err
		}
		if err := f.EndUsage(ctx, again.ServerID); err != nil {
			return err
		}
	}
	return f.Store.WriteUsage(ctx, b)
}

// TestPlantedFaults: what TestRandomTimelines compares shows each fault of recording, and usage
// verify each row that was altered.
func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(context.Context, *faulty, usage.Batch) error{
		"an hour attributed by name": byHour, "a lost count": lose, "a batch twice": repeat,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				f, seed := &faulty{write: write}, rand.Uint64()
				l := newLoad(t, seed, f.of)
				l.run()
				if f.done == 0 {
					continue
				}
				found := l.differences()
				if len(found) == 0 {
					// What is in force later also stands for an assignment that was removed: then
					// nothing is wrong.
					t.Logf("seed %d, %d times: nothing was found", seed, f.done)
					continue
				}
				t.Logf("seed %d, %d times: %s", seed, f.done, found[0])
				return
			}
			t.Fatal("the fault was found in no run")
		})
	}
	t.Run("a row altered", func(t *testing.T) {
		t.Parallel()
		seed := rand.Uint64()
		t.Log("seed", seed)
		l := newLoad(t, seed, honest)
		l.request(0, "acme") // so that line 1 has usage
		l.run()
		l.checkAltered()
	})
}

// checkAltered alters rows of closed months as their owner can, one after the other, and expects
// that usage verify says what differs.
func (l *load) checkAltered() {
	l.t.Helper()
	for _, c := range []struct{ table, says, alter, back string }{
		{
			"usage_hourly", "line 1 differs in admitted",
			`update usage_hourly set admitted = admitted + 1 where hour < '2025-02-01Z'`,
			`update usage_hourly set admitted = admitted - 1 where hour < '2025-02-01Z'`,
		},
		{
			"plan_versions", "line 1 differs in per_day", `update plan_versions set per_day = per_day + 1`,
			`update plan_versions set per_day = per_day - 1`,
		},
		{
			"usage_lines", "in usage_lines was altered",
			`update usage_lines set form = replace(form, '"acme"', '"acne"')`,
			`update usage_lines set form = replace(form, '"acne"', '"acme"')`,
		},
	} {
		l.exec(`set session_replication_role = replica; ` + c.alter + `; reset session_replication_role`)
		_, said, code := l.try("usage verify --month 2025-01")
		if code != cmdutil.ExitFailed || !strings.Contains(said, c.says) {
			l.t.Errorf("%s altered: exit %d, %s", c.table, code, said)
		}
		l.exec(`set session_replication_role = replica; ` + c.back + `; reset session_replication_role`)
	}
	l.ctl("usage verify --month 2025-01")
}
