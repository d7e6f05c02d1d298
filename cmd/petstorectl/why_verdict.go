package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// verdict is what becomes of a caller's next request, and why.
type verdict struct {
	// word is one of revoked, expired, suspended, banned, day_used_up, minute_used_up, key_limit_used_up, share_used_up and
	// admitted. Scripts rely on them: they are never given another meaning.
	word string
	// because is a sentence.
	because string
	// until is when it changes by itself, zero for never.
	until time.Time
	// help is what can be done about it, a line each.
	help []string
}

// verdict follows the order in which servers decide.
func (s standing) verdict() verdict {
	switch k := s.key; {
	case !k.RevokedAt.IsZero():
		return verdict{
			"revoked", "It is refused with 401 for ever: the key was revoked at " + plain(k.RevokedAt) + by(s.change("key.revoke")) + ".",
			time.Time{}, []string{"another key: petstorectl key issue " + k.TenantName},
		}
	case k.Status(s.now) == "expired":
		return s.expired()
	case !s.tenant.SuspendedAt.IsZero():
		return verdict{
			"suspended", "It is refused with 401: tenant " + s.tenant.Name + " was suspended at " + plain(s.tenant.SuspendedAt) +
				by(s.change("tenant.suspend")) + ".",
			time.Time{}, []string{"let it call again: petstorectl tenant resume " + s.tenant.Name},
		}
	case s.ban() != nil:
		return s.banned(*s.ban())
	}
	return s.limited()
}

func (s standing) expired() verdict {
	v := verdict{
		word:    "expired",
		because: "It is refused with 401 for ever: the key expired at " + plain(s.key.ExpiresAt) + ".",
		help:    []string{"another key: petstorectl key issue " + s.key.TenantName},
	}
	if e := s.change("key.rotate"); e != nil {
		var after struct {
			ReplacedBy string `json:"replaced_by"`
		}
		// An entry of another form only says less.
		_ = json.Unmarshal(e.After, &after)
		v.because = "It is refused with 401 for ever: the key was rotated at " + plain(e.At) + by(e) + ", and expired at " +
			plain(s.key.ExpiresAt) + "."
		if after.ReplacedBy != "" {
			v.help = []string{"its successor: petstorectl key show " + after.ReplacedBy}
		}
	}
	return v
}

func (s standing) banned(b keys.Ban) verdict {
	v := verdict{
		word: "banned", until: b.EndsAt,
		because: "It is refused with 429 key_banned until " + plain(b.EndsAt) + ": " + strings.TrimRight(b.Reason, ".") + ".",
		help:    []string{"it ends by itself; to lift it: petstorectl ban lift " + b.KeyID},
	}
	if b.Source == keys.Automatic {
		v.help = append(v.help, "the client should wait as Retry-After says: the next ban would last "+
			lengthText(keys.BanDuration(s.automaticBans())))
	}
	return v
}

// limited is the verdict of a key that nothing but limits refuses.
func (s standing) limited() verdict {
	r := s.refusing()
	switch q := s.tenant.Quota; {
	case s.today.TenantAdmitted >= q.PerDay, r != nil && !r.Partial && r.Window == string(plans.Day):
		return verdict{
			"day_used_up", fmt.Sprintf("It is refused with 429 daily_quota_exceeded until %s: tenant %s has used its %s requests of this day.",
				plain(s.dayEnd()), s.tenant.Name, thousands(q.PerDay)),
			s.dayEnd(), s.moreRoom(),
		}
	case r != nil && r.Partial:
		return verdict{
			"share_used_up", "It is refused with 429 until " + unix(r.Reset) + ": the servers could not share their counters, and the " +
				"one that refused had used its part of the limit.",
			time.Unix(r.Reset, 0), []string{"look at the servers and at Redis: petstorectl doctor"},
		}
	case r != nil && r.Window == string(plans.Key):
		return verdict{
			"key_limit_used_up", fmt.Sprintf("It is refused with 429 rate_limit_exceeded until %s: the key may send %s.",
				unix(r.Reset), ownLimit(s.key)),
			time.Unix(r.Reset, 0), []string{
				"the client should spread its requests, and wait as Retry-After says",
				"its own limit: petstorectl key edit " + s.key.ID + " --per-minute N",
			},
		}
	case r != nil:
		return verdict{
			"minute_used_up", fmt.Sprintf("It is refused with 429 rate_limit_exceeded until %s: tenant %s has used its %s requests of this minute.",
				unix(r.Reset), s.tenant.Name, thousands(q.PerMinute)),
			time.Unix(r.Reset, 0), append([]string{"the client should spread its requests, and wait as Retry-After says"}, s.moreRoom()...),
		}
	}
	return s.admitted()
}

func (s standing) admitted() verdict {
	v := verdict{word: "admitted", because: "As far as is recorded, nothing refuses it now.", help: []string{deployment(s.key.Environment)}}
	if s.key.LastUsedAt.IsZero() {
		v.help = append(v.help, "the key was never used: does the client send it? petstorectl key identify")
	}
	if len(s.refusals) > 0 {
		v.help = append(v.help, "its last refusal: "+refusalText(s.refusals[0]))
	}
	return v
}

// moreRoom says which plan allows more.
func (s standing) moreRoom() []string {
	plan := s.larger
	if plan == "" || plan == plans.Enterprise {
		plan = plans.Enterprise + " --per-minute N --per-day N"
	}
	return []string{"more room: petstorectl plan assign " + s.tenant.Name + " " + plan}
}

// by is who made a change and why, nothing for one that is not remembered.
func by(e *audit.Entry) string {
	if e == nil {
		return ""
	}
	text := " by " + cleanCell(e.Actor)
	if e.Reason != "" {
		text += " (" + cleanCell(e.Reason) + ")"
	}
	return text
}

// refusalText is a refusal in words.
func refusalText(r usage.RefusalRecord) string {
	text := "at " + plain(r.At) + " with " + r.Code
	switch {
	case r.Partial:
		text += ", over one server's share of " + thousands(r.Limit) + " requests per " + windowText(r.Window)
	case r.Window == string(plans.Key):
		text += ", over the key's own " + thousands(r.Limit) + " requests per minute"
	case r.Window != "":
		text += ", over plan " + r.Plan + "'s " + thousands(r.Limit) + " requests per " + windowText(r.Window)
	}
	if r.Reset > 0 {
		text += ", until " + unix(r.Reset)
	}
	return text
}

func windowText(window string) string {
	if window == string(plans.Key) {
		return string(plans.Minute)
	}
	return window
}

func unix(seconds int64) string { return plain(time.Unix(seconds, 0)) }

// lengthText is 15 minutes, 1 hour or 24 hours.
func lengthText(d time.Duration) string {
	n, unit := int64(d/time.Minute), "minute"
	if d%time.Hour == 0 {
		n, unit = int64(d/time.Hour), "hour"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}
