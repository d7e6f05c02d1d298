package tenant

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type suspendOptions struct {
	*cmdutil.Factory

	items cmdutil.ItemArgs
}

func newCmdSuspend(f *cmdutil.Factory) *cobra.Command {
	o := &suspendOptions{Factory: f}
	cmd := cmdutil.ItemsCommand(f, &cobra.Command{
		Use:   "suspend {TENANT... | --stdin}",
		Short: "Suspend a tenant: refuse all its keys",
		Long: `Suspend tenants: every server refuses all their keys within 400 ms, until they
are resumed.

` + cmdutil.ItemsHelp + `

The command asks for confirmation, and if the tenant called today for its name.
Scripts need --yes.`,
		Example: `  petstorectl tenant suspend acme --reason "invoice 1042 unpaid" --yes
  petstorectl tenant suspend --stdin --dry-run < unpaid.txt`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSuspend(cmd.Context(), o)
		},
	}, &o.items, cmdutil.TenantArg(f, nil))
	return cmd
}

func runSuspend(ctx context.Context, o *suspendOptions) error {
	b := batch(o.Factory, &o.items)
	b.Doing = "suspending tenants"
	b.Question = o.question
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, name string) (plans.Tenant, error) {
		return db.Tenants.Suspend(ctx, by, name, time.Time{})
	}
	b.Notice = func(t plans.Tenant) cmdutil.Notice {
		return cmdutil.Notice{Text: "suspended tenant " + t.Name + ": its keys are refused", Item: "tenant " + t.Name}
	}
	return b.Run(ctx, o.Factory)
}

// batch is a change of tenants.
func batch(f *cmdutil.Factory, items *cmdutil.ItemArgs) cmdutil.Batch[plans.Tenant] {
	return cmdutil.Batch[plans.Tenant]{
		Items: items, Noun: "tenants", Find: cmdutil.FindTenant, Lock: cmdutil.LockTenants,
		Explain: func(ctx context.Context, err error, item string) error {
			return f.Explain(ctx, err, cmdutil.Subject{Tenant: item})
		},
		View: View,
	}
}

// question shows what the tenants sent today.
func (o *suspendOptions) question(ctx context.Context, db *store.DB, names []string, _ []plans.Tenant) (q cmdutil.Question, err error) {
	used, err := db.Usage.TenantsSince(ctx, names, o.Now().Truncate(24*time.Hour))
	if err != nil {
		return q, err
	}
	q.Facts = cmdutil.Facts(names, func(name string) string {
		return fmt.Sprintf("%s: %s requests today", name, output.Thousands(used[name]))
	})
	q.Word = cmdutil.WordFor(used)
	q.Text = fmt.Sprintf("Suspend tenant %s and refuse all its keys?", names[0])
	if len(names) > 1 {
		q.Text = fmt.Sprintf("Suspend these %d tenants and refuse all their keys?", len(names))
	}
	return q, nil
}
