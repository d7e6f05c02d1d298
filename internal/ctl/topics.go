package ctl

import "github.com/spf13/cobra"

// newTopics returns the topics that "petstorectl help" explains besides commands.
func newTopics() []*cobra.Command {
	var topics []*cobra.Command
	for _, t := range []struct{ name, short, long string }{
		{"environment", "The variables that petstorectl reads", environmentText},
		{"exit-codes", "What the exit code says", exitCodesText},
		{"output", "Formats, columns, filters, times and colors", outputText},
		{"roles", "What support, billing and the owner may do", rolesText},
		{"times", "How flags read instants and lengths of time", timesText},
	} {
		topics = append(topics, &cobra.Command{Use: t.name, Short: t.short, Long: t.long, DisableFlagsInUseLine: true})
	}
	return topics
}

const environmentText = `petstorectl reads these variables. A flag wins over its variable.

PETSTORE_PROFILE
    The name of a profile: a database that you logged in to. Commands look at
    --database-url, --profile, PETSTORE_DATABASE_URL, PETSTORE_PROFILE, the
    .petstore/dev.json of "petstore dev" in this folder, and the profile
    petstore, in this order; then at PGSERVICE, PGHOST and PGHOSTADDR.
PETSTORE_DATABASE_URL
    The URL of the Postgres database. Use it, and not --database-url, for a URL
    with a password: the process list shows flags.
PETSTORE_DATABASE_URL_FILE
    The name of a file with that URL, which only you should be able to read.
    Set one of the two.
PETSTORE_ACTOR
    Who makes a change by their own account, for the audit trail; user@host if
    it is not set. The trail also has the login, which nobody can claim.
PETSTORE_ENVIRONMENT
    production or staging: the kind of deployment that new keys are for. Without
    it, that of the live servers of the database. "petstorectl whoami" says what
    decides.
PETSTORE_BASE_URL
    The public URL of the API, for the links of "tenant invite".
PGSERVICE, PGSERVICEFILE, PGPASSFILE, PGSSLROOTCERT, PGSSLCERT and others
    As for psql: what the URL leaves out. Without PGCONNECT_TIMEOUT a connection
    may take 5 s.
PETSTORE_PAGER, PAGER
    What shows output that is longer than the screen; cat for nothing. Without
    both it is less.
NO_COLOR, CLICOLOR, CLICOLOR_FORCE
    NO_COLOR=1 or CLICOLOR=0 turns colors off; CLICOLOR_FORCE=1 colors tables in
    pipes too.

A variable that begins with PETSTORE_ and that is neither of these nor of the
server is refused: it is probably misspelt.`

const exitCodesText = `Scripts can rely on the exit code. Every error says what is wrong, and mostly
what to do, on stderr; with -o json the last line of stderr is an object.

0     success
1     any other failure: stdout can't be written, a check of doctor fails, the
      audit trail is broken
2     usage: the command line or its input is wrong, or a script lacks --yes
3     not found: no such tenant, plan, key or ban
4     refused: by a rule, not confirmed, or your login may not
5     the database can't be used: no answer, a wrong password, not migrated
6     unknown: the reply of the database was lost, and the change may have been
      made; the message says where to look
130   interrupted with ^C
141   nobody reads stdout any more, as with "| head"; no message says so`

const outputText = `Data goes to stdout, messages go to stderr. On a terminal a list is a table that
fits its width, and a change prints one sentence. In a pipe each item is a line
of values separated by tabs, and a change prints the item that it changed.

-o json, jsonl, csv
    Every member, always present, with names that do not change. Times are RFC
    3339 in UTC. jsonl has one object a line; a list in JSON is an array.
--columns a,b
    Print only these columns, in this order, in every format. A wrong name is
    refused with the names that exist.
--jq EXPRESSION
    Print what the expression makes of the JSON: of the array of a list, or with
    -o jsonl of each item. Texts have no quotes. jq need not be installed.
--local, --utc
    Show the times of tables in this machine's time zone, or exact in UTC.

What is longer than the screen goes through less, or the pager of PETSTORE_PAGER
or PAGER; cat turns it off.

  petstorectl key list --tenant acme -o csv > keys.csv
  petstorectl tenant show acme --jq .plan
  petstorectl tenant list --columns name,plan,next_at
  petstorectl key list --jq '.[] | select(.status == "active") | .id'`

const rolesText = `A login is in one of these roles of Postgres, or in several. A command that a
login may not run is refused, and the message names who may.

petstore_support
    Tenants, keys, bans, and who is on which plan: see and change. Usage, failed
    requests and the audit trail: see.
petstore_billing
    The price list: see and change. Usage and who is on which plan: see. Close
    months, hand usage on, and mark an assignment as void.
the owner of the tables
    Migrations, limits reset, and how long things are kept (retention set, run).
    Nobody works as the owner every day.
an administrator
    A login of Postgres that may make roles: staff add, rotate and remove.

whoami shows your roles. docs/roles.md has a table of all commands, and how to
get a login.`

const timesText = `Flags that take an instant, WHEN, all read the same forms. All are in UTC, and
the answer names the instant.

now
    When the command is run.
today, tomorrow, yesterday
    The midnight at which that day begins.
48h, 14d, 2w, 1mo, 1y, 1d12h
    That long from now. For --until of a plan, after the beginning. For flags
    that look back, such as --since, that long ago.
+14d, in 14d
    That long from now, for every flag.
-7d, 7d ago
    That long ago, for every flag.
tuesday, tue, next tuesday, last tuesday
    Midnight of the next Tuesday after today; with last, and for flags that look
    back, of the latest before today.
2026-12-01
    Midnight of that day.
tomorrow 14:00, last tuesday 09:30, 2026-12-01T15:00Z, 2026-12-01 15:00:30+01:00
    That time of the day. A T or a space stands between.

The units are s, m (minutes), h, d, w, mo (months) and y, or their names: "14
days". One month after 31 January is the last day of February. A LENGTH is a
length without a sign, a DURATION is one without months and years. A DAY is a
date, today, yesterday, a weekday, or 7d for seven days ago.`
