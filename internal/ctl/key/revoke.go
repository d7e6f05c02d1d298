package key

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

func newCmdRevoke(f *cmdutil.Factory) *cobra.Command {
	b := batch(f, "revoking keys")
	b.AllOfUsage = "every active or banned key of this `TENANT`"
	b.Question = func(ctx context.Context, db *store.DB, ids []string, _ []keys.Key) (cmdutil.Question, error) {
		return question(ctx, f, db, ids, "Revoke")
	}
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, id string) (keys.Key, error) {
		return f.Keys(db).Revoke(ctx, by, id)
	}
	b.Notice = func(k keys.Key) cmdutil.Notice {
		item := "key " + k.ID + " of tenant " + k.TenantName
		return cmdutil.Notice{Text: "revoked " + item, Item: item}
	}
	return b.Command(&cobra.Command{
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
	})
}
