// Package ban holds the commands about bans.
package ban

import (
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
)

// NewCmd returns the command ban.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("ban,bans", "Manage bans", newCmdPlace(f), newCmdList(f), newCmdLift(f))
}

// View shows a ban with its status at an instant.
func View(now time.Time) output.View[keys.Ban] {
	return output.View[keys.Ban]{
		{Name: "id", Value: func(b keys.Ban) any { return b.ID }},
		{Name: "key_id", Value: func(b keys.Ban) any { return b.KeyID }, InList: true},
		{Name: "tenant", Value: func(b keys.Ban) any { return b.TenantName }, InList: true, MinWidth: output.TextWidth},
		{Name: "source", Value: func(b keys.Ban) any { return string(b.Source) }, InList: true},
		{Name: "status", Value: func(b keys.Ban) any { return Status(b, now) }},
		{Name: "starts_at", Value: func(b keys.Ban) any { return b.StartsAt }},
		{Name: "ends_at", Value: func(b keys.Ban) any { return b.EndsAt }, InList: true},
		{Name: "lifted_at", Value: func(b keys.Ban) any { return b.LiftedAt }},
		{Name: "reason", Value: func(b keys.Ban) any { return b.Reason }, InList: true, MinWidth: output.TextWidth},
	}
}

// Status is in force, ended or lifted.
func Status(b keys.Ban, now time.Time) string {
	switch {
	case !b.LiftedAt.IsZero():
		return "lifted"
	case !now.Before(b.EndsAt):
		return "ended"
	}
	return "in force"
}
