package key

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
)

type issueOptions struct {
	*cmdutil.Factory

	tenant      string
	name        string
	environment keys.Environment
	perMinute   int64
	expires     *time.Time
}

func newCmdIssue(f *cmdutil.Factory, runF func(context.Context, *issueOptions) error) *cobra.Command {
	o := &issueOptions{Factory: f}
	cmd := f.ChangeCommand(&cobra.Command{
		Use:     "issue TENANT",
		Aliases: []string{"create"},
		Short:   "Issue a key and print it once",
		Long: `Issue a key to a tenant and print it. It can't be shown again: only its digest
is stored.

A tenant may have 10 active keys. Without --environment, the key is for the kind
of deployment set by PETSTORE_ENVIRONMENT or .petstore/dev.json, else live.

` + cmdutil.WhenHelp,
		Example: `  petstorectl key issue acme --name ci --expires 90d
  petstorectl key issue acme --name import --per-minute 50
  petstorectl key issue acme -o json | jq -r .key`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}, cmdutil.TenantArg(f, &o.tenant))
	cmd.Flags().StringVar(&o.name, "name", "", "what the key is for: `TEXT` of at most 100 characters")
	cmdutil.CompleteFlag(cmd, "name")
	cmdutil.ExpiresFlag(cmd, f, &o.expires, "`WHEN` it expires: 90d, 2027-01-01 (default: never)")
	cmdutil.EnumFlag(cmd, &o.environment, "environment", "", "`KIND` of deployment: live or test", keys.Live, keys.Test)
	limitFlag(cmd, &o.perMinute)
	return cmd
}

func runIssue(ctx context.Context, o *issueOptions) error {
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	if o.environment == "" {
		o.environment = o.DefaultEnvironment()
	}
	request := keys.Request{Tenant: o.tenant, Name: o.name, Environment: o.environment, PerMinute: o.perMinute}
	if o.expires != nil {
		request.ExpiresAt = *o.expires
	}
	k, token, err := o.Keys(db).Issue(ctx, actor, request)
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant})
	}
	id := " " + k.ID
	if o.DryRun {
		id = ""
	}
	o.Changedf("issued %s key%s to tenant %s%s", k.Environment, id, k.TenantName, validUntil(k))
	o.Messagef("%s", EnvironmentText(k.Environment))
	if k.PerMinute > 0 {
		o.Messagef("the key is limited to %s", LimitText(k))
	}
	warnLimit(ctx, o.Factory, k)
	return printIssued(o.Factory, IssuedView, Issued{Key: k}, token)
}

// EnvironmentText says where a key works. Nothing else shows it until a request is refused.
func EnvironmentText(e keys.Environment) string {
	if e == keys.Test {
		return "a test key works on staging deployments and petstore dev only"
	}
	return "a live key works on production deployments only"
}

func validUntil(k keys.Key) string {
	if k.ExpiresAt.IsZero() {
		return ""
	}
	return ", valid until " + output.Text(k.ExpiresAt)
}
