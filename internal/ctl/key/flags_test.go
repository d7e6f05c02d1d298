package key

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/keys"
	_ "petstore.example/internal/test/sandbox" // the environment of the tests
)

var now = time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)

// parse returns the options with which the command would run.
func parse[O any](
	t *testing.T, newCmd func(*cmdutil.Factory, func(context.Context, *O) error) *cobra.Command, args ...string,
) (options O, err error) {
	t.Helper()
	f := cmdutil.NewFactory(&cmdutil.IOStreams{InTTY: true})
	f.Clock = func() time.Time { return now }
	cmd := newCmd(f, func(_ context.Context, o *O) error {
		options = *o
		return nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(cmdutil.FlagError)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return options, err
}

func check(t *testing.T, err error, got []any, want ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	issue, err := parse(t, newCmdIssue, "acme", "--name", "ci", "--environment=test", "--expires", "2w")
	check(t, err, []any{issue.tenant, issue.name, issue.environment, *issue.expires}, "acme", "ci", keys.Test, now.AddDate(0, 0, 14))

	edit, err := parse(t, newCmdEdit, "key_x", "--per-minute", "50", "--name=")
	fifty, none := int64(50), ""
	check(t, err, []any{edit.edit}, keys.Edit{Name: &none, PerMinute: &fifty})

	rotate, err := parse(t, newCmdRotate, "key_x", "--grace-period", "0", "--expires", "never")
	check(t, err, []any{rotate.id, rotate.rotation}, "key_x", keys.Rotation{ExpiresAt: &time.Time{}})

	rotate, err = parse(t, newCmdRotate, "key_x", "--expires=")
	check(t, err, []any{rotate.rotation}, keys.Rotation{GracePeriod: 24 * time.Hour})

	_, err = parse(t, newCmdEdit, "--yess", "key_x")
	if e := (*cmdutil.Error)(nil); !errors.As(err, &e) || e.Code != cmdutil.ExitUsage || e.Message != "unknown flag: --yess; did you mean --yes?" {
		t.Errorf("mistyped flag: %v", err)
	}
}
