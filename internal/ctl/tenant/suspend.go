package tenant

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type suspendOptions struct {
	*cmdutil.Factory

	name string
}

func newCmdSuspend(f *cmdutil.Factory) *cobra.Command {
	o := &suspendOptions{Factory: f}
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "suspend TENANT",
		Short: "Suspend a tenant: refuse all its keys",
		Long: `Suspend a tenant: every server refuses all its keys within 100 ms, until the
tenant is resumed.

The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl tenant suspend acme --reason "invoice 1042 unpaid" --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.NeedsYes("tenant suspend"); err != nil {
				return err
			}
			return runSuspend(cmd.Context(), o)
		},
	}, cmdutil.TenantArg(f, &o.name))
	f.YesFlag(cmd)
	return cmd
}

func runSuspend(ctx context.Context, o *suspendOptions) error {
	return cmdutil.Change[plans.Tenant]{
		Subject: cmdutil.Subject{Tenant: o.name},
		Question: func(ctx context.Context, db *store.DB) (string, error) {
			t, err := db.Tenants.Get(ctx, o.name)
			if err != nil || !t.SuspendedAt.IsZero() {
				return "", err
			}
			return fmt.Sprintf("Suspend tenant %s and refuse all its keys?", t.Name), nil
		},
		Do: func(ctx context.Context, db *store.DB, actor audit.By) (plans.Tenant, error) {
			return db.Tenants.Suspend(ctx, actor, o.name, time.Time{})
		},
		Notice: func(t plans.Tenant) string { return "suspended tenant " + t.Name + ": its keys are refused" },
		View:   View,
	}.Run(ctx, o.Factory)
}
