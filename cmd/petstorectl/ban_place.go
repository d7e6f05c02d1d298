package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

type banPlaceOptions struct {
	*factory

	id     string
	length time.Duration
}

func newCmdBanPlace(f *factory, runF func(context.Context, *banPlaceOptions) error) *cobra.Command {
	if runF == nil {
		runF = runBanPlace
	}
	o := &banPlaceOptions{factory: f}
	var length string
	cmd := &cobra.Command{
		Use:   "place KEY-ID --for LENGTH --reason TEXT",
		Short: "Refuse a key for a time",
		Long: `Refuse a key for a time, on every server within a tenth of a second. A ban that
is in force on the key is lifted in the same moment, so that the new one counts,
be it shorter or longer.

The customer is shown the reason.`,
		Example: `  petstorectl ban place key_9Xb2LmQ0tR7sVw1Z --for 1h --reason "scraping the catalogue"`,
		Args:    exactArgs("a KEY-ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := checkKeyID(args[0]); err != nil {
				return err
			}
			o.id = args[0]
			if length == "" || o.reason == "" {
				return usageProblem("%s needs --for and --reason", commandName(cmd)).withHint("usage: " + cmd.UseLine())
			}
			if o.length, err = parseLength(length); err != nil {
				return usageProblem("--for: %v", err)
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.keyIDs),
	}
	cmd.Flags().StringVar(&length, "for", "", "how long, `LENGTH` as 30m, 1h, 7d or 2w")
	completeFlag(cmd, "for", "15m", "1h", "24h", "7d")
	return cmd
}

func runBanPlace(ctx context.Context, o *banPlaceOptions) error {
	now := o.now()
	return change[keys.Ban]{
		about: about{key: o.id},
		do: func(ctx context.Context, db *store.DB, by audit.By) (keys.Ban, error) {
			return db.PlaceBan(ctx, by, store.NewBan{KeyID: o.id, Length: o.length, Reason: o.reason}, now)
		},
		told: func(b keys.Ban) string {
			return fmt.Sprintf("banned key %s of tenant %s until %s", b.KeyID, b.TenantName, plain(b.EndsAt))
		},
		view: banView(now),
	}.run(ctx, o.factory)
}
