package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/store"
)

type migrateDownOptions struct {
	*factory

	steps int
}

func newCmdMigrateDown(f *factory, runF func(context.Context, *migrateDownOptions) error) *cobra.Command {
	if runF == nil {
		runF = runMigrateDown
	}
	o := &migrateDownOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Revert the last migrations and delete their data",
		Long: `Revert the last migrations. The tables that they created are dropped with all
their data.

The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl migrate down --steps 1 --yes`,
		Args:    exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.steps < 1 {
				return usageProblem("--steps must be at least 1, not %d", o.steps)
			}
			if err := o.needsYes("migrate down"); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(),
	}
	cmd.Flags().IntVar(&o.steps, "steps", 1, "how many migrations: `N`")
	completeFlag(cmd, "steps")
	return cmd
}

func runMigrateDown(ctx context.Context, o *migrateDownOptions) error {
	found, before, err := o.migrationStatus(ctx)
	if err != nil {
		return err
	}
	if uint(o.steps) > before.Version {
		return &problem{code: exitRefused, message: fmt.Sprintf("can't revert %d migrations: only %d are applied", o.steps, before.Version)}
	}
	question := fmt.Sprintf("Revert the last %d of %d migrations and delete all data in their tables?", o.steps, before.Version)
	if err := o.confirm(ctx, question); err != nil {
		return err
	}
	if !o.dryRun {
		if err := store.MigrateDown(ctx, found.url, o.steps); err != nil {
			return err
		}
	}
	o.changed("reverted %d of %d migrations", o.steps, before.Version)
	return o.printMigrated(ctx, before, before.Version-uint(o.steps))
}
