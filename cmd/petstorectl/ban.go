package main

import (
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
)

func newCmdBan(f *factory) *cobra.Command {
	return newGroup("ban,bans", "Manage bans",
		newCmdBanPlace(f, nil), newCmdBanList(f, nil), newCmdBanLift(f, nil),
	)
}

// banView shows bans with their status at an instant.
func banView(now time.Time) view[keys.Ban] {
	return view[keys.Ban]{
		{name: "key_id", value: func(b keys.Ban) any { return b.KeyID }, short: true},
		{name: "tenant", value: func(b keys.Ban) any { return b.TenantName }, short: true, least: textWidth},
		{name: "source", value: func(b keys.Ban) any { return string(b.Source) }, short: true},
		{name: "status", value: func(b keys.Ban) any { return banStatus(b, now) }},
		{name: "starts_at", value: func(b keys.Ban) any { return b.StartsAt }},
		{name: "ends_at", value: func(b keys.Ban) any { return b.EndsAt }, short: true},
		{name: "lifted_at", value: func(b keys.Ban) any { return b.LiftedAt }},
		{name: "reason", value: func(b keys.Ban) any { return b.Reason }, short: true, least: textWidth},
	}
}

func banStatus(b keys.Ban, now time.Time) string {
	switch {
	case !b.LiftedAt.IsZero():
		return "lifted"
	case !now.Before(b.EndsAt):
		return "ended"
	}
	return "in force"
}
