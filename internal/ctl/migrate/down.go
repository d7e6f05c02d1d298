package migrate

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	storemigrate "petstore.example/internal/store/migrate"
)

type downOptions struct {
	*cmdutil.Factory

	steps int
}

func newCmdDown(f *cmdutil.Factory) *cobra.Command {
	o := &downOptions{Factory: f}
	cmd := cmdutil.OutputCommand(f, &cobra.Command{
		Use:   "down",
		Short: "Revert the last migrations and delete their data",
		Long: `Revert the last migrations. The tables that they created are dropped with all
their data.

The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl migrate down --steps 1 --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.steps < 1 {
				return cmdutil.UsageErrorf("--steps must be at least 1, not %d", o.steps)
			}
			return runDown(cmd.Context(), o)
		},
	})
	cmd.Flags().IntVar(&o.steps, "steps", 1, "how many migrations to revert: `N`")
	cmdutil.CompleteFlag(cmd, "steps")
	f.DryRunFlag(cmd)
	f.YesFlag(cmd)
	return cmd
}

func runDown(ctx context.Context, o *downOptions) error {
	if err := o.CheckUnambiguous(); err != nil {
		return err
	}
	url, before, err := status(ctx, o.Factory)
	if err == nil && !o.DryRun {
		err = storemigrate.CheckOwner(ctx, url)
	}
	if err != nil {
		return err
	}
	if uint(o.steps) > before.Version {
		return &cmdutil.Error{
			Code: cmdutil.ExitRefused, Message: fmt.Sprintf("can't revert %d migrations: only %d are applied", o.steps, before.Version),
		}
	}
	question := fmt.Sprintf("Revert %d of %d migrations and delete all data in their tables?", o.steps, before.Version)
	if err := o.Confirm(ctx, question); err != nil {
		return err
	}
	if !o.DryRun {
		if err := storemigrate.Down(ctx, url, o.steps); err != nil {
			return err
		}
	}
	o.Changedf("reverted %d of %d migrations", o.steps, before.Version)
	return printChanged(ctx, o.Factory, before, before.Version-uint(o.steps))
}
