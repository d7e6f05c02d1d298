package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

var testNow = time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)

// parsed runs a command's flags and arguments up to its run function, and returns the options that it would get.
func parsed[O any](
	t *testing.T, newCmd func(*factory, func(context.Context, *O) error) *cobra.Command, args ...string,
) (O, error) {
	t.Helper()
	f := newFactory(&streams{inTTY: true})
	f.clock = func() time.Time { return testNow }
	var got O
	cmd := newCmd(f, func(_ context.Context, o *O) error {
		got = *o
		return nil
	})
	addGlobalFlags(cmd, f)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(flagProblem)
	cmd.SetArgs(args)
	return got, cmd.ExecuteContext(t.Context())
}

func TestFlags(t *testing.T) {
	t.Parallel()
	create, err := parsed(t, newCmdTenantCreate, "acme", "--plan", "enterprise", "--per-minute", "7", "--per-day", "70")
	checkFlags(t, err, []any{"acme", "enterprise", &plans.Quota{PerMinute: 7, PerDay: 70}},
		[]any{create.name, create.plan, create.own})

	issue, err := parsed(t, newCmdKeyIssue, "acme", "--name", "ci", "--environment=test", "--expires", "2w")
	checkFlags(t, err, []any{"acme", "ci", keys.Test, testNow.AddDate(0, 0, 14)},
		[]any{issue.tenant, issue.name, issue.environment, issue.expires})

	edit, err := parsed(t, newCmdKeyEdit, "key_x", "--per-minute", "50", "--name=")
	fifty, none := int64(50), ""
	checkFlags(t, err, []any{"key_x", keys.Edit{Name: &none, PerMinute: &fifty}}, []any{edit.id, edit.edit})

	rotate, err := parsed(t, newCmdKeyRotate, "key_x", "--grace-period", "0", "--expires", "never")
	checkFlags(t, err, []any{"key_x", keys.Rotation{ExpiresAt: &time.Time{}}}, []any{rotate.id, rotate.rotation})

	place, err := parsed(t, newCmdBanPlace, "key_x", "--for", "1h30m", "--reason", "x")
	checkFlags(t, err, []any{"key_x", 90 * time.Minute, "x"}, []any{place.id, place.duration, place.reason})

	usage, err := parsed(t, newCmdUsageShow, "acme", "--by", "day")
	november := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	checkFlags(t, err, []any{"acme", store.ByDay, november, november.AddDate(0, 1, 0), usageLimit},
		[]any{usage.tenant, usage.by, usage.from, usage.to, usage.limit})

	simulate, err := parsed(t, newCmdPlanSimulate, "acme", "pro", "--from", "2026-10-15")
	checkFlags(t, err, []any{"acme", "pro", time.Date(2026, 10, 15, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)},
		[]any{simulate.tenant, simulate.plan, simulate.from, simulate.to})

	down, err := parsed(t, newCmdMigrateDown, "--yes", "--dry-run", "-o", "json")
	checkFlags(t, err, []any{1, true, true, "json"}, []any{down.steps, down.yes, down.dryRun, down.output})

	_, err = parsed(t, newCmdKeyRevoke, "--yess", "key_x")
	if p := (*problem)(nil); !errors.As(err, &p) || p.code != exitUsage || p.message != "unknown flag: --yess; did you mean --yes?" {
		t.Errorf("mistyped flag: %v", err)
	}
}

func checkFlags(t *testing.T, err error, want, got []any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
}
