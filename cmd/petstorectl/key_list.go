package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

type keyListOptions struct {
	*factory

	tenant string
	limit  int
}

func newCmdKeyList(f *factory, runF func(context.Context, *keyListOptions) error) *cobra.Command {
	if runF == nil {
		runF = runKeyList
	}
	o := &keyListOptions{factory: f}
	cmd := &cobra.Command{
		Use:     "list [TENANT]",
		Aliases: []string{"ls"},
		Short:   "List keys, including revoked and expired ones",
		Example: `  petstorectl key list acme
  petstorectl key list acme -o json | jq -r '.[] | select(.status == "active") | .id'`,
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
	addLimitFlag(cmd, &o.limit, standardLimit)
	return cmd
}

func runKeyList(ctx context.Context, o *keyListOptions) error {
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	list, err := db.Keys.List(ctx, store.KeyFilter{Tenant: o.tenant, Limit: o.limit + 1})
	if err != nil {
		return o.explain(ctx, err, about{tenant: o.tenant})
	}
	return printLimited(o.factory, o.view(list), list, o.limit, "no keys yet: petstorectl key issue TENANT")
}

// view shows the keys' own limits. A table has room for them only in the place of another column, and only when there are any.
func (o *keyListOptions) view(list []keys.Key) view[keys.Key] {
	v := keyView(o.now())
	switch {
	case o.format() != "table":
		return v.with("per_minute")
	case slices.ContainsFunc(list, func(k keys.Key) bool { return k.PerMinute > 0 }):
		return v.with("per_minute").without("last4")
	}
	return v
}
