package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

func newCmdKey(f *factory) *cobra.Command {
	return newGroup("key,keys", "Manage API keys",
		newCmdKeyIssue(f, nil), newCmdKeyList(f, nil), newCmdKeyShow(f, nil),
		newCmdKeyIdentify(f, nil), newCmdKeyEdit(f, nil), newCmdKeyRotate(f, nil), newCmdKeyRevoke(f, nil),
	)
}

// keyView shows keys with their status at an instant.
func keyView(now time.Time) view[keys.Key] {
	return view[keys.Key]{
		{name: "id", value: func(k keys.Key) any { return k.ID }, short: true},
		{name: "tenant", value: func(k keys.Key) any { return k.TenantName }, short: true, least: textWidth},
		{name: "name", value: func(k keys.Key) any { return k.Name }, short: true, least: textWidth},
		{name: "environment", heading: "ENV", value: func(k keys.Key) any { return string(k.Environment) }, short: true},
		{name: "last4", value: func(k keys.Key) any { return k.Last4 }, short: true},
		{name: "status", value: func(k keys.Key) any { return string(k.Status(now)) }, short: true},
		{name: "created_at", value: func(k keys.Key) any { return k.CreatedAt }},
		{name: "expires_at", value: func(k keys.Key) any { return k.ExpiresAt }},
		{name: "revoked_at", value: func(k keys.Key) any { return k.RevokedAt }},
		{name: "last_used_at", value: func(k keys.Key) any { return k.LastUsedAt }, short: true},
		{name: "per_minute", heading: "PER MIN", value: func(k keys.Key) any { return limitOrNil(k.PerMinute) }},
	}
}

// limitOrNil is nil for none.
func limitOrNil(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// keyDetails is a key with the ban in force, which has no ID when there is none.
type keyDetails struct {
	keys.Key
	ban keys.Ban
}

func keyDetailsView(now time.Time) view[keyDetails] {
	return append(
		over(keyView(now), func(d keyDetails) keys.Key { return d.Key }),
		column[keyDetails]{name: "banned_until", value: func(d keyDetails) any { return d.ban.EndsAt }},
		column[keyDetails]{name: "ban_reason", value: func(d keyDetails) any { return d.ban.Reason }},
	)
}

// printKey shows one key with its ban.
func printKey(ctx context.Context, f *factory, db *store.DB, k keys.Key) error {
	now := f.now()
	bans, err := db.Bans.List(ctx, store.BanFilter{KeyID: k.ID, Limit: 1}, now)
	if err != nil {
		return err
	}
	d := keyDetails{Key: k}
	if len(bans) > 0 {
		d.ban = bans[0]
	}
	return printOne(f, keyDetailsView(now), d)
}
