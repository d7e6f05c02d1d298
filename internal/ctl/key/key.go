// Package key holds the commands about API keys.
package key

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

// NewCmd returns the command key.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("key,keys", "Manage API keys",
		newCmdIssue(f, runIssue), newCmdList(f), newCmdShow(f),
		newCmdIdentify(f), newCmdEdit(f, runEdit), newCmdRotate(f, runRotate), newCmdRevoke(f, runRevoke),
	)
}

// View shows a key with its status at an instant.
func View(now time.Time) output.View[keys.Key] {
	return output.View[keys.Key]{
		{Name: "id", Value: func(k keys.Key) any { return k.ID }, InList: true},
		{Name: "tenant", Value: func(k keys.Key) any { return k.TenantName }, InList: true, MinWidth: output.TextWidth},
		{Name: "name", Value: func(k keys.Key) any { return k.Name }, InList: true, MinWidth: output.TextWidth},
		{Name: "environment", Heading: "ENV", Value: func(k keys.Key) any { return string(k.Environment) }, InList: true},
		{Name: "last4", Value: func(k keys.Key) any { return k.Last4 }, InList: true},
		{Name: "status", Value: func(k keys.Key) any { return string(k.Status(now)) }, InList: true},
		{Name: "created_at", Value: func(k keys.Key) any { return k.CreatedAt }},
		{Name: "expires_at", Value: func(k keys.Key) any { return k.ExpiresAt }},
		{Name: "revoked_at", Value: func(k keys.Key) any { return k.RevokedAt }},
		{Name: "last_used_at", Value: func(k keys.Key) any { return k.LastUsedAt }, InList: true},
		{Name: "per_minute", Heading: "PER MIN", Value: func(k keys.Key) any { return output.NumberOrNil(k.PerMinute) }},
	}
}

// Details is a key with the ban in force, which has no ID if there is none.
type Details struct {
	keys.Key
	ban keys.Ban
}

// DetailsView shows a single key.
func DetailsView(now time.Time) output.View[Details] {
	return append(
		output.Map(View(now), func(d Details) keys.Key { return d.Key }),
		output.Column[Details]{Name: "banned_until", Value: func(d Details) any { return d.ban.EndsAt }},
		output.Column[Details]{Name: "ban_reason", Value: func(d Details) any { return d.ban.Reason }},
	)
}

// printDetails prints a key with its ban.
func printDetails(ctx context.Context, f *cmdutil.Factory, k keys.Key) error {
	db, err := f.DB(ctx)
	if err != nil {
		return err
	}
	now := f.Now()
	bans, err := store.Collect(db.Bans.List(ctx, store.BanFilter{KeyID: k.ID, Limit: 1}, now))
	if err != nil {
		return err
	}
	d := Details{Key: k}
	if len(bans) > 0 {
		d.ban = bans[0]
	}
	return output.Item(f.Printer(), DetailsView(now), d)
}

// Label names a key in a few characters: by its name or, if it has none, the last four characters of its plaintext.
func Label(k keys.Key) string {
	if k.Name == "" {
		return "…" + k.Last4
	}
	return output.Clean(k.Name)
}

// NameSuffix is the key's name in parentheses, if it has one.
func NameSuffix(k keys.Key) string {
	if k.Name == "" {
		return ""
	}
	return " (" + output.Clean(k.Name) + ")"
}
