package ban

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

func newCmdPlace(f *cmdutil.Factory) *cobra.Command {
	var duration time.Duration
	b := batch(f, "banning keys")
	b.Requires = []string{"for", "reason"}
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, id string) (keys.Ban, error) {
		return db.Bans.Place(ctx, by, store.NewBan{KeyID: id, Length: duration, Reason: f.Reason}, f.Now())
	}
	b.Notice = func(b keys.Ban) cmdutil.Notice {
		item := "key " + b.KeyID + " of tenant " + b.TenantName
		return cmdutil.Notice{Text: "banned " + item + " until " + output.Text(b.EndsAt), Item: item}
	}
	cmd := b.Command(&cobra.Command{
		Use:   "place {KEY-ID... | --stdin} --for DURATION",
		Short: "Ban a key for a time",
		Long: `Ban a key for a time. Every server refuses it within 400 ms. The ban replaces
one that is already in force on the key, even if that one would last longer.

The reason is shown to the tenant with each refusal.

` + cmdutil.ItemsHelp,
		Example: `  petstorectl ban place key_9Xb2LmQ0tR7sVw1Z --for 1h --reason "scraping the catalogue"`,
	})
	cmdutil.ParsedFlag(cmd, &duration, "for", "", "`DURATION` of the ban: 30m, 1h, 7d or 2w", cmdutil.ParseDuration, "15m", "1h", "24h", "7d")
	return cmd
}

// batch is a change of the bans of keys.
func batch(f *cmdutil.Factory, doing string) *cmdutil.Batch[keys.Ban] {
	return &cmdutil.Batch[keys.Ban]{
		Factory: f, Item: cmdutil.KeyIDArg(f, nil), Noun: "keys", Doing: doing, Find: cmdutil.FindKey, Lock: cmdutil.LockKeys,
		Subject: func(id string) cmdutil.Subject { return cmdutil.Subject{Key: id} }, View: View,
	}
}
