package migrate

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/store"
)

type upOptions struct {
	*cmdutil.Factory
}

func newCmdUp(f *cmdutil.Factory, runF func(context.Context, *upOptions) error) *cobra.Command {
	o := &upOptions{Factory: f}
	cmd := &cobra.Command{
		Use:     "up",
		Short:   "Apply all pending migrations",
		Example: `  petstorectl migrate up`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	cmdutil.SetArgs(cmd)
	f.ReadFlags(cmd)
	f.DryRunFlag(cmd)
	return cmd
}

func runUp(ctx context.Context, o *upOptions) error {
	url, before, err := status(ctx, o.Factory)
	if err != nil {
		return err
	}
	if !o.DryRun {
		if err := store.MigrateUp(ctx, url); err != nil {
			return err
		}
	}
	if len(before.Pending) == 0 {
		o.Messagef("the database is up to date")
	} else {
		o.Changedf("applied %s", strings.Join(before.Pending, ", "))
	}
	return printChanged(ctx, o.Factory, before, before.Latest)
}
