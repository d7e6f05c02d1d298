package main

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

type banLiftOptions struct {
	*factory

	id string
}

func newCmdBanLift(f *factory, runF func(context.Context, *banLiftOptions) error) *cobra.Command {
	if runF == nil {
		runF = runBanLift
	}
	o := &banLiftOptions{factory: f}
	return &cobra.Command{
		Use:     "lift KEY-ID",
		Short:   "Lift the ban on a key",
		Example: `  petstorectl ban lift key_9Xb2LmQ0tR7sVw1Z --reason "they fixed their loop"`,
		Args:    exactArgs("KEY-ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkKeyID(args[0]); err != nil {
				return err
			}
			o.id = args[0]
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.keyIDs),
	}
}

func runBanLift(ctx context.Context, o *banLiftOptions) error {
	now := o.now()
	return change[keys.Ban]{
		about: about{key: o.id},
		do: func(ctx context.Context, db *store.DB, by audit.By) (keys.Ban, error) {
			return db.Bans.Lift(ctx, by, o.id, now)
		},
		told: func(b keys.Ban) string { return "lifted the ban on key " + b.KeyID + " of tenant " + b.TenantName },
		view: banView(now),
	}.run(ctx, o.factory)
}
