package ban

import (
	"context"
	"fmt"
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

	id       string
	duration time.Duration
}

func newCmdPlace(f *cmdutil.Factory) *cobra.Command {
	o := &placeOptions{Factory: f}
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "place KEY-ID --for DURATION --reason TEXT",
		Short: "Ban a key for a time",
		Long: `Ban a key for a time. Every server refuses it within 100 ms. The ban replaces
one that is already in force on the key, even if that one would last longer.

The reason is shown to the tenant with each refusal.`,
		Example: `  petstorectl ban place key_9Xb2LmQ0tR7sVw1Z --for 1h --reason "scraping the catalogue"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmdutil.RequireFlags(cmd, "for", "reason"); err != nil {
				return err
			}
			return runPlace(cmd.Context(), o)
		},
	}, cmdutil.KeyIDArg(f, &o.id))
	cmdutil.ParsedFlag(cmd, &o.duration, "for", "", "`DURATION` of the ban: 30m, 1h, 7d or 2w", cmdutil.ParseDuration, "15m", "1h", "24h", "7d")
	return cmd
}

func runPlace(ctx context.Context, o *placeOptions) error {
	now := o.Now()
	return cmdutil.Change[keys.Ban]{
		Subject: cmdutil.Subject{Key: o.id},
		Do: func(ctx context.Context, db *store.DB, actor audit.By) (keys.Ban, error) {
			return db.Bans.Place(ctx, actor, store.NewBan{KeyID: o.id, Length: o.duration, Reason: o.Reason}, now)
		},
		Notice: func(b keys.Ban) string {
			return fmt.Sprintf("banned key %s of tenant %s until %s", b.KeyID, b.TenantName, output.Text(b.EndsAt))
		},
		View: View(now),
	}.Run(ctx, o.Factory)
}
