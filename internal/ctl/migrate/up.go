package migrate

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	storemigrate "petstore.example/internal/store/migrate"
)

func newCmdUp(f *cmdutil.Factory) *cobra.Command {
	cmd := cmdutil.OutputCommand(f, &cobra.Command{
		Use:     "up",
		Short:   "Apply all pending migrations",
		Example: `  petstorectl migrate up`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runUp(cmd.Context(), f) },
	})
	f.DryRunFlag(cmd)
	return cmd
}

func runUp(ctx context.Context, f *cmdutil.Factory) error {
	if err := f.CheckUnambiguous(); err != nil {
		return err
	}
	url, before, err := status(ctx, f)
	if err != nil {
		return err
	}
	if !f.DryRun {
		if err := storemigrate.Up(ctx, url); err != nil {
			return err
		}
	}
	if len(before.Pending) == 0 {
		f.Messagef("the database is up to date")
	} else {
		f.Changedf("applied %s", strings.Join(before.Pending, ", "))
	}
	return printChanged(ctx, f, before, before.Latest)
}
