package key

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

type revokeOptions struct {
	*cmdutil.Factory

	items cmdutil.ItemArgs
}

func newCmdRevoke(f *cmdutil.Factory, runF func(context.Context, *revokeOptions) error) *cobra.Command {
	o := &revokeOptions{Factory: f}
	cmd := cmdutil.ItemsCommand(f, &cobra.Command{
		Use:   "revoke {KEY-ID... | --all-of TENANT | --stdin}",
		Short: "Revoke a key permanently",
		Long: `Revoke keys permanently. Every server refuses them within 400 ms. Whoever
revoked a key can bring it back for 15 minutes: petstorectl undo.

` + cmdutil.ItemsHelp + `

The command asks for confirmation, and if the tenant called today for its name.
Scripts need --yes.`,
		Example: `  petstorectl key revoke key_9Xb2LmQ0tR7sVw1Z --reason "leaked in a public repository" --yes
  petstorectl key revoke --all-of acme --reason "contract ended"
  petstorectl key list --unused 1y | petstorectl key revoke --stdin --dry-run`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runF(cmd.Context(), o)
		},
	}, &o.items, cmdutil.KeyIDArg(f, nil))
	o.items.AllOfFlag(cmd, f, "every active or banned key of this `TENANT`")
	return cmd
}

func runRevoke(ctx context.Context, o *revokeOptions) error {
	b := batch(o.Factory, &o.items)
	b.Doing = "revoking keys"
	b.Question = func(ctx context.Context, db *store.DB, ids []string, _ []keys.Key) (cmdutil.Question, error) {
		return question(ctx, o.Factory, db, ids, "Revoke")
	}
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, id string) (keys.Key, error) {
		return o.Keys(db).Revoke(ctx, by, id)
	}
	b.Notice = func(k keys.Key) cmdutil.Notice {
		item := "key " + k.ID + " of tenant " + k.TenantName
		return cmdutil.Notice{Text: "revoked " + item, Item: item}
	}
	return b.Run(ctx, o.Factory)
}
