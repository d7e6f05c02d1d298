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
	perMinute   int64
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
		Short:   "Issue a key and print it once",
		Long: `Issue a key to a tenant and print it. It can't be shown again: only its digest
is stored.

A tenant may have 10 active keys. Without --environment, the key is for the kind
of deployment set by PETSTORE_ENVIRONMENT or .petstore/dev.json, else live.`,
		Example: `  petstorectl key issue acme --name ci --expires 90d
  petstorectl key issue acme --name import --per-minute 50
  petstorectl key issue acme -o json | jq -r .key`,
		Args: exactArgs("TENANT"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.tenant = args[0]
			if o.expires, err = parseExpiry(expires, o.now()); err != nil {
				return usageProblem("--expires: %v", err)
			}
			if err := checkKeyLimit(cmd, o.perMinute); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.tenantNames),
	}
	cmd.Flags().StringVar(&o.name, "name", "", "what the key is for: `TEXT` of at most 100 characters")
	cmd.Flags().StringVar(&expires, "expires", "", "`TIME` of expiry: 90d, 2027-01-01 (UTC) or RFC 3339")
	cmd.Flags().Var(newChoice(&o.environment, keys.Live, keys.Test), "environment", "`KIND` of deployment: live or test")
	addKeyLimitFlag(cmd, &o.perMinute)
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
		Tenant: o.tenant, Name: o.name, Environment: o.environment, PerMinute: o.perMinute, ExpiresAt: o.expires,
	})
	if err != nil {
		return o.explain(ctx, err, about{tenant: o.tenant})
	}
	o.changed("issued %s key %s to tenant %s%s", key.Environment, key.ID, key.TenantName, until(key.ExpiresAt))
	o.streams.say("%s", deployment(key.Environment))
	if key.PerMinute > 0 {
		o.streams.say("the key is limited to %s", ownLimit(key))
	}
	o.warnOwnLimit(ctx, key)
	issued := issuedKey{Key: key}
	if !o.dryRun {
		o.streams.say("copy the key now, it is not shown again:")
		issued.text = token.Reveal()
	}
	return printIssued(o.factory, issued)
}

// deployment says where a key is good: the environment may have been the standard one, and nothing shows until the
// customer is refused.
func deployment(e keys.Environment) string {
	if e == keys.Test {
		return "a test key works on staging deployments only"
	}
	return "a live key works on production deployments only"
}

func until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", valid until " + plain(t)
}

// issuedKey is the only shape that holds a key's plaintext, which is empty for a key that was only tried.
type issuedKey struct {
	keys.Key
	text string
}

var (
	issuedText = column[issuedKey]{name: "key", value: func(k issuedKey) any { return k.text }}
	issuedView = view[issuedKey]{
		{name: "id", value: func(k issuedKey) any { return k.ID }},
		issuedText,
		{name: "tenant", value: func(k issuedKey) any { return k.TenantName }},
		{name: "name", value: func(k issuedKey) any { return k.Name }},
		{name: "environment", value: func(k issuedKey) any { return string(k.Environment) }},
		{name: "expires_at", value: func(k issuedKey) any { return k.ExpiresAt }},
		{name: "per_minute", value: func(k issuedKey) any { return limitOrNil(k.PerMinute) }},
	}
)

// printIssued prints the new key, alone unless another format is asked for or there is none to tell.
func printIssued(f *factory, k issuedKey) error {
	whole := over(keyView(f.now()), func(k issuedKey) keys.Key { return k.Key })
	switch {
	case f.output == "json":
		return printOne(f, issuedView, k)
	case f.output == "csv":
		return printOne(f, append(view[issuedKey]{issuedText}, whole...), k)
	case f.dryRun:
		return printOne(f, whole, k)
	}
	_, err := fmt.Fprintln(f.streams.out, k.text)
	return err
}
