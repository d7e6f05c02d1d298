package cmdutil

import (
	"slices"
	"strings"
)

// Synonym has words that people use for commands, in other products and in daily speech, and the
// commands that they probably mean.
type Synonym struct{ Names, Meant string }

func (s Synonym) has(word string) bool { return slices.Contains(strings.Fields(s.Names), word) }

// VerbSynonyms are words for verbs. The first meant verb that a noun has is taken. A word for one
// action must never lead to another.
var VerbSynonyms = []Synonym{
	{"new add create generate invite", "create issue place add"},
	{"delete remove rm destroy invalidate drop", "revoke suspend retire lift remove"},
	{"disable deactivate pause stop block lock", "suspend revoke"},
	{"enable activate reactivate unsuspend unblock unpause unlock", "resume"},
	{"forget wipe purge", "erase"},
	{"download dump archive invoice csv", "export"},
	{"describe info details view get show", "show list status"},
	{"all list report stats version", "list show status"},
	{"suspended active inactive revoked expired expiring unused retired withdrawn lifted current search", "list"},
	{"set change switch upgrade downgrade", "assign place edit"},
	{"update modify rename contact notes limit expire extend", "edit"},
	{"check closed", "verify"},
	{"regenerate renew roll reissue replace refresh reset password", "rotate"},
	{"end clear revoke", "lift remove"},
	{"raise increase", "boost"},
	{"cancel unassign", "unschedule"},
	{"scheduled upcoming", "schedule"},
	{"migrate", "move"},
	{"preview replay what-if", "simulate"},
	{"seal lock", "close"},
	{"latest apply run", "up"},
}

// Synonyms are words for commands, wherever people look for them.
var Synonyms = []Synonym{
	{"customer customers client clients account accounts organization org company", "tenant"},
	{"token tokens apikey apikeys api-key api-keys secret secrets credential credentials", "key"},
	{"pricing price prices pricelist price-list tier tiers subscription subscriptions product products", "plan"},
	{"quota quotas", "plan,tenant show"},
	{"upgrade downgrade assign move", "plan assign"},
	{"raise increase boost set", "plan assign,plan boost"},
	{"trial", "tenant create"},
	{"ban block blacklist", "ban place,tenant suspend"},
	{"unban unblock", "ban lift"},
	{"deactivate disable", "tenant suspend,key revoke"},
	{"activate reactivate enable unsuspend", "tenant resume"},
	{"delete remove rm destroy", "key revoke,tenant suspend"},
	{"unrevoke rollback revert restore undo", "undo"},
	{"new add create", "tenant create,key issue"},
	{"search lookup query whois who-is grep", "why"},
	{"diagnose explain debug refused 429 why", "why"},
	{"follow watch stream live", "tail"},
	{"log logs journal changes trail", "audit list"},
	{"history", "audit list,plan history"},
	{"keys", "key list"},
	{"report reports statistics stats metrics consumption requests usage", "usage show"},
	{"invoice invoices billing bill", "usage export"},
	{"status health check ping", "doctor"},
	{"schema migration migrations", "migrate"},
	{"employee employees colleague member members team", "staff"},
	{"user users", "staff,tenant"},
	{"profile profiles context contexts", "login"},
	{"me who id", "whoami"},
	{"signin sign-in auth connect", "login"},
	{"signout sign-out disconnect logout", "logout"},
	{"man docs manual", "help"},
}

// flagSynonyms maps words for flags to the flags or arguments that they probably mean. The first
// that the command has is taken.
var flagSynonyms = map[string]string{
	"force":       "yes",
	"y":           "yes",
	"assume-yes":  "yes",
	"no-confirm":  "yes",
	"format":      "output",
	"json":        "output json",
	"csv":         "output csv",
	"message":     "reason",
	"comment":     "reason",
	"why":         "reason",
	"m":           "reason",
	"preview":     "dry-run",
	"simulate":    "dry-run",
	"check":       "dry-run",
	"n":           "dry-run",
	"tenant":      "all-of",
	"customer":    "tenant,all-of",
	"client":      "tenant,all-of",
	"account":     "tenant,all-of",
	"expiry":      "expires",
	"ttl":         "expires",
	"valid-until": "expires",
	"max":         "limit",
	"count":       "limit",
	"top":         "limit",
	"mail":        "email",
	"e-mail":      "email",
	"db":          "database-url",
	"url":         "database-url",
	"dsn":         "database-url",
	"duration":    "for,until",
	"start":       "since,from",
	"from":        "since",
	"after":       "since",
	"before":      "until",
	"end":         "until",
	"to":          "until (exclusive)",
}
