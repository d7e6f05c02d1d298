package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
)

type keyIssueOptions struct {
	*factory

	tenant      string
	name        string
	environment keys.Environment
	expires     time.Time
}

func newCmdKeyIssue(f *factory, runF func(context.Context, *keyIssueOptions) error) *cobra.Command {
	if runF == nil {
		runF = runKeyIssue
	}
	o := &keyIssueOptions{factory: f}
	var expires string
	cmd := &cobra.Command{
		Use:     "issue TENANT",
		Aliases: []string{"create"},
		Short:   "Make a key and print it, once",
		Long: `Make a key for a customer and print it. It is shown this once: only its digest
is kept.

A customer may have 10 active keys. Without --environment the key is for the
kind of deployment that PETSTORE_ENVIRONMENT or .petstore/dev.json names, else
live.`,
		Example: `  petstorectl key issue acme --name ci --expires 90d
  petstorectl key issue acme -o json | jq -r .key`,
		Args: exactArgs("a TENANT"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.tenant = args[0]
			if o.expires, err = parseExpiry(expires, o.now()); err != nil {
				return usageProblem("--expires: %v", err)
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.tenantNames),
	}
	cmd.Flags().StringVar(&o.name, "name", "", "what the key is for, `TEXT` of at most 100 characters")
	cmd.Flags().StringVar(&expires, "expires", "", "`WHEN` it ends: 90d, 2027-01-01 (UTC) or RFC 3339")
	cmd.Flags().Var(newChoice(&o.environment, keys.Live, keys.Test), "environment", "`KIND` of deployment: live or test")
	completeFlag(cmd, "environment", string(keys.Live), string(keys.Test))
	completeFlag(cmd, "name")
	completeFlag(cmd, "expires")
	return cmd
}

func runKeyIssue(ctx context.Context, o *keyIssueOptions) error {
	by, err := o.by()
	if err != nil {
		return err
	}
	service, err := o.keys(ctx)
	if err != nil {
		return err
	}
	if o.environment == "" {
		o.environment = o.standardEnvironment()
	}
	key, token, err := service.Issue(ctx, by, keys.Request{
		Tenant: o.tenant, Name: o.name, Environment: o.environment, ExpiresAt: o.expires,
	})
	if err != nil {
		return o.explain(ctx, err, about{tenant: o.tenant})
	}
	o.changed("issued %s key %s to tenant %s%s", key.Environment, key.ID, key.TenantName, until(key.ExpiresAt))
	if o.dryRun {
		return printOne(o.factory, keyView(o.now()), key)
	}
	o.streams.say("this is the only time the key is shown:")
	return printIssued(o.factory, key, token)
}

func until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", valid until " + plain(t)
}

// issuedKey is the only shape that holds a key's plaintext.
type issuedKey struct {
	ID          string           `json:"id"`
	Key         string           `json:"key"`
	Tenant      string           `json:"tenant"`
	Name        string           `json:"name,omitempty"`
	Environment keys.Environment `json:"environment"`
	ExpiresAt   *time.Time       `json:"expires_at,omitempty"`
}

// printIssued prints the new key, alone unless another format is asked for.
func printIssued(f *factory, k keys.Key, token keys.Token) error {
	switch f.output {
	case "json":
		issued := issuedKey{ID: k.ID, Key: token.Reveal(), Tenant: k.TenantName, Name: k.Name, Environment: k.Environment}
		if !k.ExpiresAt.IsZero() {
			issued.ExpiresAt = &k.ExpiresAt
		}
		return printJSON(f.streams.out, issued)
	case "csv":
		v := append(view[keys.Key]{{name: "key", value: func(keys.Key) any { return token.Reveal() }}}, keyView(f.now())...)
		return printCSV(f.streams.out, v, []keys.Key{k})
	}
	_, err := fmt.Fprintln(f.streams.out, token.Reveal())
	return err
}
