// Package ctltest helps to test the flags and arguments of commands.
package ctltest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
)

// Now is the time in the tests of commands.
var Now = time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)

// Factory returns a Factory for a person at a terminal.
func Factory() *cmdutil.Factory {
	f := cmdutil.NewFactory(&cmdutil.IOStreams{InTTY: true})
	f.Clock = func() time.Time { return Now }
	return f
}

// Parse parses arguments and flags, and returns the options with which the command would run.
func Parse[O any](
	t *testing.T, newCmd func(*cmdutil.Factory, func(context.Context, *O) error) *cobra.Command, args ...string,
) (options O, err error) {
	t.Helper()
	cmd := newCmd(Factory(), func(_ context.Context, o *O) error {
		options = *o
		return nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(cmdutil.FlagError)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return options, err
}

// Check compares the options that a command line set.
func Check(t *testing.T, err error, got []any, want ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
}
