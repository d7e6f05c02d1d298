package limits

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type resetOptions struct {
	*cmdutil.Factory

	name string
}

func newCmdReset(f *cmdutil.Factory) *cobra.Command {
	o := &resetOptions{Factory: f}
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "reset TENANT",
		Short: "Reset a tenant's limits: to the present windows",
		Long: `Reset a tenant's limits after the clock of Postgres was wrong. Its day and its
minute become the present ones by Postgres's clock, with the usage that is
recorded. All servers begin a new term and count from there.

A server without Redis counts in its memory: restart it instead.

The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl limits reset acme --reason "clock of db1 was a day ahead" --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runReset(cmd.Context(), o)
		},
	}, cmdutil.TenantArg(f, &o.name))
	f.YesFlag(cmd)
	return cmdutil.ForOwner(cmd)
}

func runReset(ctx context.Context, o *resetOptions) error {
	return cmdutil.Change[store.LimitsReset]{
		Subject: cmdutil.Subject{Tenant: o.name},
		Question: func(ctx context.Context, db *store.DB) (string, error) {
			t, err := db.Tenants.Get(ctx, o.name)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("Reset the limits of tenant %s to its recorded usage?", t.Name), nil
		},
		Do: func(ctx context.Context, db *store.DB, actor audit.By) (store.LimitsReset, error) {
			return db.Limits.Reset(ctx, actor, o.name)
		},
		Notice: notice,
		View:   View,
	}.Run(ctx, o.Factory)
}

func notice(r store.LimitsReset) string {
	if r.InMemory {
		return fmt.Sprintf("reset the limits of tenant %s in the database; the only server counts in its memory: restart it", r.Tenant)
	}
	return fmt.Sprintf("reset the limits of tenant %s: %s used today", r.Tenant, output.Count(r.DayUsed, "request"))
}
