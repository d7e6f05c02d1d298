package ban

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/store"
)

type listOptions struct {
	*cmdutil.Factory

	tenant string
	all    bool
	limit  int
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:     "list [TENANT]",
		Aliases: []string{"ls"},
		Short:   "List bans in force, the newest first",
		Example: `  petstorectl ban list
  petstorectl ban list acme --all`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), o) },
	}, cmdutil.TenantArg(f, &o.tenant).Optional())
	cmd.Flags().BoolVar(&o.all, "all", false, "include bans that ended or were lifted")
	cmdutil.LimitFlag(cmd, &o.limit, cmdutil.DefaultLimit)
	return cmd
}

func runList(ctx context.Context, o *listOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	now := o.Now()
	bans, err := db.Bans.List(ctx, store.BanFilter{Tenant: o.tenant, Past: o.all, Limit: o.limit + 1}, now)
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant})
	}
	v, empty := View(now), "no bans in force"
	if o.all {
		v, empty = v.Show("status"), "no bans"
	}
	return cmdutil.PrintLimited(o.Factory, v, bans, o.limit, empty)
}
