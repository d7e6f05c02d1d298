package main

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/store"
)

type auditListOptions struct {
	*factory

	tenant string
	limit  int
}

func newCmdAuditList(f *factory, runF func(context.Context, *auditListOptions) error) *cobra.Command {
	if runF == nil {
		runF = runAuditList
	}
	o := &auditListOptions{factory: f}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List changes, the newest first",
		Long: `List changes, the newest first. With -o json and -o csv each change includes its
subject before and after it. No entry contains a key or its digest.`,
		Example: `  petstorectl audit list --tenant acme --limit 20
  petstorectl audit list -o json | jq '.[] | select(.action == "plan.assign") | .before.plan, .after.plan'`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(o.limit); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(),
	}
	cmd.Flags().StringVar(&o.tenant, "tenant", "", "only changes to this `TENANT`")
	addLimitFlag(cmd, &o.limit, standardLimit)
	completeFlagFrom(cmd, "tenant", f.tenantNames)
	return cmd
}

func runAuditList(ctx context.Context, o *auditListOptions) error {
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	entries, err := db.Audit.List(ctx, store.AuditFilter{Tenant: o.tenant, Limit: o.limit + 1})
	if err != nil {
		return o.explain(ctx, err, about{tenant: o.tenant})
	}
	return printLimited(o.factory, auditView, entries, o.limit, "no changes recorded")
}
