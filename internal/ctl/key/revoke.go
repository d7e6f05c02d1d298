package key

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

type revokeOptions struct {
	*cmdutil.Factory

	id string
}

func newCmdRevoke(f *cmdutil.Factory, runF func(context.Context, *revokeOptions) error) *cobra.Command {
	o := &revokeOptions{Factory: f}
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "revoke KEY-ID",
		Short: "Revoke a key permanently",
		Long: `Revoke a key permanently. Every server refuses it within 100 ms.

The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl key revoke key_9Xb2LmQ0tR7sVw1Z --reason "leaked in a public repository" --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.NeedsYes("key revoke"); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}, cmdutil.KeyIDArg(f, &o.id))
	f.YesFlag(cmd)
	return cmd
}

func runRevoke(ctx context.Context, o *revokeOptions) error {
	return cmdutil.Change[keys.Key]{
		Subject: cmdutil.Subject{Key: o.id},
		Question: func(ctx context.Context, db *store.DB) (string, error) {
			k, err := db.Keys.Get(ctx, o.id)
			if err != nil || !k.RevokedAt.IsZero() {
				return "", err
			}
			return fmt.Sprintf("Revoke key %s%s of tenant %s?", k.ID, NameSuffix(k), k.TenantName), nil
		},
		Do: func(ctx context.Context, db *store.DB, actor audit.By) (keys.Key, error) {
			return o.Keys(db).Revoke(ctx, actor, o.id)
		},
		Notice: func(k keys.Key) string { return "revoked key " + k.ID + " of tenant " + k.TenantName },
		View:   View(o.Now()),
	}.Run(ctx, o.Factory)
}
