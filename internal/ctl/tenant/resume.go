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

	items cmdutil.ItemArgs
}

func newCmdResume(f *cmdutil.Factory) *cobra.Command {
	o := &resumeOptions{Factory: f}
	return cmdutil.ItemsCommand(f, &cobra.Command{
		Use:   "resume {TENANT... | --stdin}",
		Short: "Resume a suspended tenant",
		Long:  "Resume suspended tenants.\n\n" + cmdutil.ItemsHelp,
		Example: `  petstorectl tenant resume acme --reason "paid"
  petstorectl tenant resume acme zoo`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runResume(cmd.Context(), o) },
	}, &o.items, cmdutil.TenantArg(f, nil))
}

func runResume(ctx context.Context, o *resumeOptions) error {
	b := batch(o.Factory, &o.items)
	b.Doing = "resuming tenants"
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, name string) (plans.Tenant, error) {
		return db.Tenants.Resume(ctx, by, name)
	}
	b.Notice = func(t plans.Tenant) cmdutil.Notice {
		return cmdutil.Notice{Text: "resumed tenant " + t.Name, Item: "tenant " + t.Name}
	}
	return b.Run(ctx, o.Factory)
}
