package tenant

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type resumeOptions struct {
	*cmdutil.Factory

	name string
}

func newCmdResume(f *cmdutil.Factory) *cobra.Command {
	o := &resumeOptions{Factory: f}
	return f.ChangeCommand(&cobra.Command{
		Use:     "resume TENANT",
		Short:   "Resume a suspended tenant",
		Example: `  petstorectl tenant resume acme --reason "paid"`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runResume(cmd.Context(), o) },
	}, cmdutil.TenantArg(f, &o.name))
}

func runResume(ctx context.Context, o *resumeOptions) error {
	return cmdutil.Change[plans.Tenant]{
		Subject: cmdutil.Subject{Tenant: o.name},
		Do: func(ctx context.Context, db *store.DB, actor audit.By) (plans.Tenant, error) {
			return db.Tenants.Resume(ctx, actor, o.name)
		},
		Notice: func(t plans.Tenant) string { return "resumed tenant " + t.Name },
		View:   View,
	}.Run(ctx, o.Factory)
}
