package cmdutil

import (
	"strings"
	"sync"
)

// synonymTable is what people call the commands of a group: words of other products and of daily speech, and the commands that they
// probably mean. None of the words is a command of its group. A word of one action must never lead to another.
var synonymTable = []struct{ group, names, commands string }{
	{"", "customer customers client clients account accounts organization org company", "tenant"},
	{"", "token tokens apikey apikeys api-key api-keys secret secrets credential credentials", "key"},
	{"", "pricing price prices pricelist price-list tier tiers subscription subscriptions product products", "plan"},
	{"", "quota quotas", "plan,tenant show"},
	{"", "upgrade downgrade", "plan assign"},
	{"", "raise increase", "plan assign,plan boost"},
	{"", "trial", "tenant create"},
	{"", "block blacklist", "ban place,tenant suspend"},
	{"", "unban unblock", "ban lift"},
	{"", "deactivate disable", "tenant suspend,key revoke"},
	{"", "activate reactivate enable unsuspend", "tenant resume"},
	{"", "delete remove rm destroy", "key revoke,tenant suspend"},
	{"", "unrevoke rollback revert restore", "undo"},
	{"", "new add create", "tenant create,key issue"},
	{"", "search lookup query whois who-is grep", "find"},
	{"", "diagnose explain debug refused 429", "why"},
	{"", "follow watch stream live", "tail"},
	{"", "log logs journal changes trail", "audit list"},
	{"", "history", "audit list,plan history"},
	{"", "report reports statistics stats metrics consumption requests", "usage show"},
	{"", "invoice invoices billing bill", "usage export"},
	{"", "status health check ping", "doctor"},
	{"", "schema migration migrations", "migrate"},
	{"", "employee employees colleague member members team", "staff"},
	{"", "user users", "staff,tenant"},
	{"", "profile profiles", "context"},
	{"", "me who id", "whoami"},
	{"", "signin sign-in auth connect", "login"},
	{"", "signout sign-out disconnect", "logout"},
	{"", "man docs manual", "help"},

	{"tenant", "delete remove rm destroy", "tenant suspend,tenant erase"},
	{"tenant", "forget wipe purge", "tenant erase"},
	{"tenant", "download dump archive", "tenant export"},
	{"tenant", "disable deactivate pause stop block lock ban", "tenant suspend"},
	{"tenant", "enable activate reactivate unsuspend unblock unpause unlock", "tenant resume"},
	{"tenant", "new add", "tenant create"},
	{"tenant", "describe info details", "tenant show"},
	{"tenant", "all", "tenant list"},
	{"tenant", "suspended active inactive", "tenant list"},
	{"tenant", "search", "find,tenant list"},
	{"tenant", "update change modify set rename contact notes", "tenant edit"},
	{"tenant", "upgrade downgrade assign move plan", "plan assign"},
	{"tenant", "boost raise increase", "plan boost"},
	{"tenant", "history log", "audit list,plan history"},
	{"tenant", "keys", "key list"},
	{"tenant", "usage", "usage show"},
	{"tenant", "why", "why"},
	{"tenant", "unban", "ban lift"},

	{"key", "delete remove rm destroy disable deactivate block invalidate", "key revoke"},
	{"key", "unrevoke restore enable activate reactivate", "undo"},
	{"key", "new add generate", "key issue"},
	{"key", "describe info details", "key show"},
	{"key", "all", "key list"},
	{"key", "revoked expired expiring unused active", "key list"},
	{"key", "whois who-is who lookup owner check verify", "key identify"},
	{"key", "search", "find,key list"},
	{"key", "update change modify set rename limit expire extend", "key edit"},
	{"key", "regenerate renew roll reissue replace refresh", "key rotate"},
	{"key", "ban", "ban place"},
	{"key", "unban unblock", "ban lift"},
	{"key", "history log", "audit list"},

	{"plan", "delete remove rm destroy", "plan retire"},
	{"plan", "new add", "plan create"},
	{"plan", "describe info details", "plan show"},
	{"plan", "all retired withdrawn", "plan list"},
	{"plan", "update modify", "plan edit"},
	{"plan", "set change switch upgrade downgrade", "plan assign"},
	{"plan", "raise increase", "plan boost,plan assign"},
	{"plan", "cancel unassign", "plan unschedule"},
	{"plan", "scheduled upcoming", "plan schedule"},
	{"plan", "migrate", "plan move"},
	{"plan", "log", "plan history"},
	{"plan", "preview replay what-if", "plan simulate"},

	{"ban", "new add create set", "ban place"},
	{"ban", "delete remove rm end clear revoke unban", "ban lift"},
	{"ban", "all get show view history lifted", "ban list"},

	{"audit", "log logs history search find", "audit list"},
	{"audit", "check", "audit verify"},
	{"audit", "view describe", "audit show"},
	{"audit", "download dump", "audit export"},
	{"audit", "undo revert", "undo"},

	{"usage", "report list view stats", "usage show"},
	{"usage", "invoice csv download", "usage export"},
	{"usage", "seal lock", "usage close"},
	{"usage", "closed", "usage verify"},
	{"usage", "check", "usage verify"},

	{"limits", "show list", "why,tenant show"},
	{"limits", "raise increase set", "plan assign,plan boost"},

	{"staff", "new invite", "staff add"},
	{"staff", "delete revoke drop", "staff remove"},
	{"staff", "show all", "staff list"},
	{"staff", "reset renew password", "staff rotate"},

	{"context", "switch select set", "context use"},
	{"context", "show current", "context list"},
	{"context", "delete logout", "context remove"},
	{"context", "add new create", "login"},

	{"migrate", "latest apply run", "migrate up"},
	{"migrate", "show list version", "migrate status"},
}

// Synonyms maps a group and a word, with a space between them, to the commands that the word probably means.
var Synonyms = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for _, row := range synonymTable {
		for word := range strings.FieldsSeq(row.names) {
			m[row.group+" "+word] = strings.Split(row.commands, ",")
		}
	}
	return m
})

// flagSynonyms is what people call flags, and the flags or arguments that they probably mean: the first that the command has.
var flagSynonyms = map[string]string{
	"force": "yes", "y": "yes", "assume-yes": "yes", "no-confirm": "yes",
	"format": "output", "json": "output json", "csv": "output csv",
	"message": "reason", "comment": "reason", "why": "reason", "m": "reason",
	"preview": "dry-run", "simulate": "dry-run", "check": "dry-run", "n": "dry-run",
	"tenant": "all-of", "customer": "tenant,all-of", "client": "tenant,all-of", "account": "tenant,all-of",
	"expiry": "expires", "ttl": "expires", "valid-until": "expires",
	"max": "limit", "count": "limit", "top": "limit",
	"mail": "email", "e-mail": "email",
	"db": "database-url", "url": "database-url", "dsn": "database-url",
	"duration": "for", "start": "since,from", "from": "since", "after": "since", "before": "until", "end": "until", "to": "until (exclusive)",
}
