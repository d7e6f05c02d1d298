package key

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
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
		Use:     "list [TENANT]",
		Aliases: []string{"ls"},
		Short:   "List keys, including revoked and expired ones",
		Example: `  petstorectl key list acme
  petstorectl key list acme -o json | jq -r '.[] | select(.status == "active") | .id'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), o) },
	}, cmdutil.TenantArg(f, &o.tenant).Optional())
	cmdutil.LimitFlag(cmd, &o.limit, cmdutil.DefaultLimit)
	return cmd
}

func runList(ctx context.Context, o *listOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	list, err := db.Keys.List(ctx, store.KeyFilter{Tenant: o.tenant, Limit: o.limit + 1})
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant})
	}
	return cmdutil.PrintLimited(o.Factory, o.view(list), list, o.limit, "no keys yet: petstorectl key issue TENANT")
}

// view shows the keys' own limits. A table has room for them only in place of another column, and only if there are any.
func (o *listOptions) view(list []keys.Key) output.View[keys.Key] {
	v := View(o.Now())
	switch {
	case o.Printer().Format != "table":
		return v.Show("per_minute")
	case slices.ContainsFunc(list, func(k keys.Key) bool { return k.PerMinute > 0 }):
		return v.Show("per_minute").Hide("last4")
	}
	return v
}
