package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
)

type keyRevokeOptions struct {
	*factory

	id string
}

func newCmdKeyRevoke(f *factory, runF func(context.Context, *keyRevokeOptions) error) *cobra.Command {
	if runF == nil {
		runF = runKeyRevoke
	}
	o := &keyRevokeOptions{factory: f}
	return &cobra.Command{
		Use:   "revoke KEY-ID",
		Short: "End a key at once and for ever",
		Long: `End a key at once and for ever. It is refused on every server within a tenth of
a second.

It asks first; where nobody can answer, give --yes.`,
		Example: `  petstorectl key revoke key_9Xb2LmQ0tR7sVw1Z --reason "leaked in a public repository" --yes`,
		Args:    exactArgs("a KEY-ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkKeyID(args[0]); err != nil {
				return err
			}
			o.id = args[0]
			if err := o.needsYes("key revoke"); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.keyIDs),
	}
}

func runKeyRevoke(ctx context.Context, o *keyRevokeOptions) error {
	by, err := o.by()
	if err != nil {
		return err
	}
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	k, err := db.GetKey(ctx, o.id)
	if err != nil {
		return o.explain(ctx, err, about{key: o.id})
	}
	if k.RevokedAt.IsZero() {
		if err := o.confirm(ctx, fmt.Sprintf("Revoke key %s%s of tenant %s?", k.ID, named(k), k.TenantName)); err != nil {
			return err
		}
	}
	service, err := o.keys(ctx)
	if err != nil {
		return err
	}
	if k, err = service.Revoke(ctx, by, o.id); err != nil {
		return o.explain(ctx, err, about{key: o.id})
	}
	o.changed("revoked key %s of tenant %s", k.ID, k.TenantName)
	return printChanged(o.factory, keyView(o.now()), k)
}

// named is the key's name in brackets, if it has one.
func named(k keys.Key) string {
	if k.Name == "" {
		return ""
	}
	return " (" + cleanCell(k.Name) + ")"
}
