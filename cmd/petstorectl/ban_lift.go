package main

import (
	"context"

	"github.com/spf13/cobra"
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
		Short:   "End the ban on a key now",
		Example: `  petstorectl ban lift key_9Xb2LmQ0tR7sVw1Z --reason "they fixed their loop"`,
		Args:    exactArgs("a KEY-ID"),
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
	by, err := o.by()
	if err != nil {
		return err
	}
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	now := o.now()
	ban, err := db.LiftBan(ctx, by, o.id, now)
	if err != nil {
		return o.explain(ctx, err, about{key: o.id})
	}
	o.changed("lifted the ban on key %s of tenant %s", ban.KeyID, ban.TenantName)
	return printChanged(o.factory, banView(now), ban)
}
