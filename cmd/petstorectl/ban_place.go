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

	id       string
	duration time.Duration
}

func newCmdBanPlace(f *factory, runF func(context.Context, *banPlaceOptions) error) *cobra.Command {
	if runF == nil {
		runF = runBanPlace
	}
	o := &banPlaceOptions{factory: f}
	var duration string
	cmd := &cobra.Command{
		Use:   "place KEY-ID --for DURATION --reason TEXT",
		Short: "Ban a key for a time",
		Long: `Ban a key for a time. Every server refuses it within 100 ms. The ban replaces
one that is already in force on the key, even if that one would last longer.

The reason is shown to the tenant with each refusal.`,
		Example: `  petstorectl ban place key_9Xb2LmQ0tR7sVw1Z --for 1h --reason "scraping the catalogue"`,
		Args:    exactArgs("KEY-ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := checkKeyID(args[0]); err != nil {
				return err
			}
			o.id = args[0]
			if duration == "" || o.reason == "" {
				return missingFlags(cmd, "--for and --reason")
			}
			if o.duration, err = parseLength(duration); err != nil {
				return usageProblem("--for: %v", err)
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.keyIDs),
	}
	cmd.Flags().StringVar(&duration, "for", "", "`DURATION` of the ban: 30m, 1h, 7d or 2w")
	completeFlag(cmd, "for", "15m", "1h", "24h", "7d")
	return cmd
}

func runBanPlace(ctx context.Context, o *banPlaceOptions) error {
	now := o.now()
	return change[keys.Ban]{
		about: about{key: o.id},
		do: func(ctx context.Context, db *store.DB, by audit.By) (keys.Ban, error) {
			return db.Bans.Place(ctx, by, store.NewBan{KeyID: o.id, Length: o.duration, Reason: o.reason}, now)
		},
		told: func(b keys.Ban) string {
			return fmt.Sprintf("banned key %s of tenant %s until %s", b.KeyID, b.TenantName, plain(b.EndsAt))
		},
		view: banView(now),
	}.run(ctx, o.factory)
}
