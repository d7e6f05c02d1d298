package audit

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/store"
)

type listOptions struct {
	*cmdutil.Factory

	tenant string
	limit  int
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List changes, the newest first",
		Long: `List changes, the newest first. With -o json and -o csv each change includes its
subject before and after it. No entry contains a key or its digest.`,
		Example: `  petstorectl audit list --tenant acme --limit 20
  petstorectl audit list -o json | jq '.[] | select(.action == "plan.assign") | .before.plan, .after.plan'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), o) },
	})
	cmd.Flags().StringVar(&o.tenant, "tenant", "", "only changes to this `TENANT`")
	cmdutil.CompleteFlagFrom(cmd, "tenant", cmdutil.TenantNames(f))
	cmdutil.LimitFlag(cmd, &o.limit, cmdutil.DefaultLimit)
	return cmd
}

func runList(ctx context.Context, o *listOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	entries, err := db.Audit.List(ctx, store.AuditFilter{Tenant: o.tenant, Limit: o.limit + 1})
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant})
	}
	return cmdutil.PrintLimited(o.Factory, View, entries, o.limit, "no changes recorded")
}
