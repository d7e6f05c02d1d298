package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/store"
)

type migrateUpOptions struct {
	*factory
}

func newCmdMigrateUp(f *factory, runF func(context.Context, *migrateUpOptions) error) *cobra.Command {
	if runF == nil {
		runF = runMigrateUp
	}
	o := &migrateUpOptions{factory: f}
	return &cobra.Command{
		Use:               "up",
		Short:             "Apply all pending migrations",
		Example:           `  petstorectl migrate up`,
		Args:              exactArgs(),
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
		ValidArgsFunction: completeArgs(),
	}
}

func runMigrateUp(ctx context.Context, o *migrateUpOptions) error {
	found, before, err := o.migrationStatus(ctx)
	if err != nil {
		return err
	}
	if !o.dryRun {
		if err := store.MigrateUp(ctx, found.url); err != nil {
			return err
		}
	}
	if len(before.Pending) == 0 {
		o.streams.say("the database is up to date")
	} else {
		o.changed("applied %s", strings.Join(before.Pending, ", "))
	}
	return o.printMigrated(ctx, before, before.Latest)
}
