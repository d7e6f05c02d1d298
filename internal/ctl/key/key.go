// Package key holds the commands about API keys.
package key

import (
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
)

// NewCmd returns the command key.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("key,keys", "Manage API keys",
		newCmdIssue(f, runIssue), newCmdList(f), newCmdShow(f),
		newCmdIdentify(f), newCmdEdit(f, runEdit), newCmdRotate(f, runRotate), newCmdRevoke(f),
	)
}

// View shows a key with its status at an instant.
func View(now time.Time) output.View[keys.Key] {
	return output.View[keys.Key]{
		{Name: "id", Value: func(k keys.Key) any { return k.ID }, InList: true},
		{Name: "tenant", Value: func(k keys.Key) any { return k.TenantName }, InList: true, MinWidth: output.TextWidth},
		{Name: "name", Value: func(k keys.Key) any { return k.Name }, InList: true, MinWidth: output.TextWidth},
		{Name: "environment", Heading: "ENV", Value: func(k keys.Key) any { return string(k.Environment) }, InList: true, Spare: 2},
		{Name: "last4", Value: func(k keys.Key) any { return k.Last4 }, InList: true, Spare: 3},
		{Name: "status", Value: func(k keys.Key) any { return string(k.Status(now)) }, InList: true},
		{Name: "banned_until", Heading: "BAN ENDS", Value: func(k keys.Key) any { return inForce(k, now).EndsAt }},
		{Name: "created_at", Value: func(k keys.Key) any { return k.CreatedAt }},
		{Name: "expires_at", Heading: "EXPIRES", Value: func(k keys.Key) any { return k.ExpiresAt }},
		{Name: "replaced_by", Heading: "NEW KEY", Value: func(k keys.Key) any { return k.ReplacedBy }, MinWidth: 9},
		{Name: "revoked_at", Value: func(k keys.Key) any { return k.RevokedAt }},
		{Name: "last_used_at", Heading: "LAST USED", Value: func(k keys.Key) any { return k.LastUsedAt }, InList: true},
		{Name: "per_minute", Heading: "PER MIN", Value: func(k keys.Key) any { return output.NumberOrNil(k.PerMinute) }, Spare: 1},
		{Name: "ban_reason", Value: func(k keys.Key) any { return inForce(k, now).Reason }},
	}
}

// inForce is the key's ban, the zero Ban if none is in force.
func inForce(k keys.Key, now time.Time) keys.Ban {
	if k.Ban.InForce(now) {
		return k.Ban
	}
	return keys.Ban{}
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
