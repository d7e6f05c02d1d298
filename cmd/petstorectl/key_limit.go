package main

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
)

func addKeyLimitFlag(cmd *cobra.Command, perMinute *int64) {
	cmd.Flags().Int64Var(perMinute, "per-minute", 0, "the key's own limit: `N` requests per minute")
	completeFlag(cmd, "per-minute")
}

// checkKeyLimit refuses numbers that are no limit, where the flag was given.
func checkKeyLimit(cmd *cobra.Command, perMinute int64) error {
	if cmd.Flags().Changed("per-minute") && perMinute < 1 {
		return usageProblem("--per-minute must be at least 1, not %d", perMinute)
	}
	return nil
}

// ownLimit is a key's own limit in words.
func ownLimit(k keys.Key) string {
	switch k.PerMinute {
	case 0:
		return "no limit of its own"
	case 1:
		return "1 request per minute"
	}
	return thousands(k.PerMinute) + " requests per minute"
}

// warnOwnLimit says when a key's own limit binds nothing. It is advice: what was done is done when it can't be had.
func (f *factory) warnOwnLimit(ctx context.Context, k keys.Key) {
	if k.PerMinute == 0 {
		return
	}
	db, err := f.database(ctx)
	if err != nil {
		return
	}
	t, err := db.Tenants.Get(ctx, k.TenantName)
	if err == nil && k.PerMinute >= t.Quota.PerMinute {
		f.streams.say("the key's own limit has no effect: tenant %s on plan %s is limited to %s requests per minute for all its keys",
			t.Name, t.Plan, thousands(t.Quota.PerMinute))
	}
}
