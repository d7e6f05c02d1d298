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
		Long: `List changes, the newest first. The login is the database role that made the
change; the claimed actor is who the caller said they were (PETSTORE_ACTOR).

With -o json and -o csv each change includes its subject before and after it,
and its hash. No entry contains a key, its digest, or a name: only that a name
was changed. The names of tenants are looked up.`,
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
	v := View
	if format := o.Printer().Format; format != "json" && format != "csv" {
		v = named(v)
	}
	return cmdutil.PrintLimited(o.Factory, v, entries, o.limit, "no changes recorded")
}
