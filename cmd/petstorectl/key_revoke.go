package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
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
		Short: "Revoke a key permanently",
		Long: `Revoke a key permanently. Every server refuses it within 100 ms.

The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl key revoke key_9Xb2LmQ0tR7sVw1Z --reason "leaked in a public repository" --yes`,
		Args:    exactArgs("KEY-ID"),
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
	return change[keys.Key]{
		about: about{key: o.id},
		question: func(ctx context.Context, db *store.DB) (string, error) {
			k, err := db.Keys.Get(ctx, o.id)
			if err != nil || !k.RevokedAt.IsZero() {
				return "", err
			}
			return fmt.Sprintf("Revoke key %s%s of tenant %s?", k.ID, named(k), k.TenantName), nil
		},
		do: func(ctx context.Context, db *store.DB, by audit.By) (keys.Key, error) {
			service := keys.Service{Store: db.Keys, Clock: o.now}
			return service.Revoke(ctx, by, o.id)
		},
		told: func(k keys.Key) string { return "revoked key " + k.ID + " of tenant " + k.TenantName },
		view: keyView(o.now()),
	}.run(ctx, o.factory)
}

// named is the key's name in brackets, if it has one.
func named(k keys.Key) string {
	if k.Name == "" {
		return ""
	}
	return " (" + cleanCell(k.Name) + ")"
}
