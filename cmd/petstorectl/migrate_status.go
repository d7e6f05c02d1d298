package main

import (
	"context"

	"github.com/spf13/cobra"
)

type migrateStatusOptions struct {
	*factory
}

func newCmdMigrateStatus(f *factory, runF func(context.Context, *migrateStatusOptions) error) *cobra.Command {
	if runF == nil {
		runF = runMigrateStatus
	}
	o := &migrateStatusOptions{factory: f}
	return &cobra.Command{
		Use:               "status",
		Short:             "Show the schema version and pending migrations",
		Example:           `  petstorectl migrate status`,
		Args:              exactArgs(),
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
		ValidArgsFunction: completeArgs(),
	}
}

func runMigrateStatus(ctx context.Context, o *migrateStatusOptions) error {
	_, status, err := o.migrationStatus(ctx)
	if err != nil {
		return err
	}
	return printOne(o.factory, migrationView, status)
}
