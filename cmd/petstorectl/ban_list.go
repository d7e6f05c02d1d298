package main

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/store"
)

type banListOptions struct {
	*factory

	tenant string
	all    bool
	limit  int
}

func newCmdBanList(f *factory, runF func(context.Context, *banListOptions) error) *cobra.Command {
	if runF == nil {
		runF = runBanList
	}
	o := &banListOptions{factory: f}
	cmd := &cobra.Command{
		Use:     "list [TENANT]",
		Aliases: []string{"ls"},
		Short:   "List the bans in force, the newest first",
		Example: `  petstorectl ban list
  petstorectl ban list acme --all`,
		Args: rangeArgs(0, "TENANT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.tenant = args[0]
			}
			if err := checkLimit(o.limit); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.tenantNames),
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "include bans that ended or were lifted")
	addLimitFlag(cmd, &o.limit, standardLimit)
	return cmd
}

func runBanList(ctx context.Context, o *banListOptions) error {
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	now := o.now()
	bans, err := db.Bans.List(ctx, store.BanFilter{Tenant: o.tenant, Past: o.all, Limit: o.limit + 1}, now)
	if err != nil {
		return o.explain(ctx, err, about{tenant: o.tenant})
	}
	v, none := banView(now), "no bans in force"
	if o.all {
		none = "no bans"
		v = v.with("status")
	}
	return printLimited(o.factory, v, bans, o.limit, none)
}
