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

type placeOptions struct {
	*cmdutil.Factory

	items    cmdutil.ItemArgs
	duration time.Duration
}

func newCmdPlace(f *cmdutil.Factory) *cobra.Command {
	o := &placeOptions{Factory: f}
	cmd := cmdutil.ItemsCommand(f, &cobra.Command{
		Use:   "place {KEY-ID... | --stdin} --for DURATION",
		Short: "Ban a key for a time",
		Long: `Ban a key for a time. Every server refuses it within 400 ms. The ban replaces
one that is already in force on the key, even if that one would last longer.

The reason is shown to the tenant with each refusal.

` + cmdutil.ItemsHelp,
		Example: `  petstorectl ban place key_9Xb2LmQ0tR7sVw1Z --for 1h --reason "scraping the catalogue"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmdutil.RequireFlags(cmd, "for", "reason"); err != nil {
				return err
			}
			return runPlace(cmd.Context(), o)
		},
	}, &o.items, cmdutil.KeyIDArg(f, nil))
	cmdutil.ParsedFlag(cmd, &o.duration, "for", "", "`DURATION` of the ban: 30m, 1h, 7d or 2w", cmdutil.ParseDuration, "15m", "1h", "24h", "7d")
	return cmd
}

func runPlace(ctx context.Context, o *placeOptions) error {
	now := o.Now()
	b := batch(o.Factory, &o.items)
	b.Doing = "banning keys"
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, id string) (keys.Ban, error) {
		return db.Bans.Place(ctx, by, store.NewBan{KeyID: id, Length: o.duration, Reason: o.Reason}, now)
	}
	b.Notice = func(b keys.Ban) cmdutil.Notice {
		item := "key " + b.KeyID + " of tenant " + b.TenantName
		return cmdutil.Notice{Text: "banned " + item + " until " + output.Text(b.EndsAt), Item: item}
	}
	return b.Run(ctx, o.Factory)
}

// batch is a change of the bans of keys.
func batch(f *cmdutil.Factory, items *cmdutil.ItemArgs) cmdutil.Batch[keys.Ban] {
	return cmdutil.Batch[keys.Ban]{
		Items: items, Noun: "keys", Find: cmdutil.FindKey, Lock: cmdutil.LockKeys,
		Explain: func(ctx context.Context, err error, id string) error {
			return f.Explain(ctx, err, cmdutil.Subject{Key: id})
		},
		View: View(f.Now()),
	}
}
