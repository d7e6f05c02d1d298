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

// batch is a change of tenants.
func batch(f *cmdutil.Factory, doing string) *cmdutil.Batch[plans.Tenant] {
	return &cmdutil.Batch[plans.Tenant]{
		Factory: f, Item: cmdutil.TenantArg(f, nil), Noun: "tenants", Doing: doing, Find: cmdutil.FindTenant, Lock: cmdutil.LockTenants,
		Subject: func(name string) cmdutil.Subject { return cmdutil.Subject{Tenant: name} },
		View:    func(time.Time) output.View[plans.Tenant] { return View },
	}
}

func newCmdSuspend(f *cmdutil.Factory) *cobra.Command {
	b := batch(f, "suspending tenants")
	b.Question = func(ctx context.Context, db *store.DB, names []string, _ []plans.Tenant) (cmdutil.Question, error) {
		return suspensionQuestion(ctx, f, db, names)
	}
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, name string) (plans.Tenant, error) {
		return db.Tenants.Suspend(ctx, by, name, time.Time{})
	}
	b.Notice = func(t plans.Tenant) cmdutil.Notice {
		return cmdutil.Notice{Text: "suspended tenant " + t.Name + ": its keys are refused", Item: "tenant " + t.Name}
	}
	return b.Command(&cobra.Command{
		Use:   "suspend {TENANT... | --stdin}",
		Short: "Suspend a tenant: refuse all its keys",
		Long: `Suspend tenants: every server refuses all their keys within 400 ms, until they
are resumed.

` + cmdutil.ItemsHelp + `

The command asks for confirmation, and if the tenant called today for its name.
Scripts need --yes.`,
		Example: `  petstorectl tenant suspend acme --reason "invoice 1042 unpaid" --yes
  petstorectl tenant suspend --stdin --dry-run < unpaid.txt`,
	})
}

func newCmdResume(f *cmdutil.Factory) *cobra.Command {
	b := batch(f, "resuming tenants")
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, name string) (plans.Tenant, error) {
		return db.Tenants.Resume(ctx, by, name)
	}
	b.Notice = func(t plans.Tenant) cmdutil.Notice {
		return cmdutil.Notice{Text: "resumed tenant " + t.Name, Item: "tenant " + t.Name}
	}
	return b.Command(&cobra.Command{
		Use:   "resume {TENANT... | --stdin}",
		Short: "Resume a suspended tenant",
		Long:  "Resume suspended tenants.\n\n" + cmdutil.ItemsHelp,
		Example: `  petstorectl tenant resume acme --reason "paid"
  petstorectl tenant resume acme zoo`,
	})
}

// suspensionQuestion shows what the tenants sent today.
func suspensionQuestion(ctx context.Context, f *cmdutil.Factory, db *store.DB, names []string) (q cmdutil.Question, err error) {
	used, err := db.Usage.TenantsSince(ctx, names, f.Now().Truncate(24*time.Hour))
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
