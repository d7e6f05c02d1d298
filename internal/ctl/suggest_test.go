package ctl

import (
	"errors"
	"strings"
	"testing"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/test/assert"
)

// suggested returns what the error of an unknown command says after its first sentence.
func suggested(t *testing.T, line string) string {
	t.Helper()
	root := newCmdRoot(cmdutil.NewFactory(&cmdutil.IOStreams{}))
	err := cmdutil.CheckCommand(root, strings.Fields(line))
	e := (*cmdutil.Error)(nil)
	if !errors.As(err, &e) || e.Code != cmdutil.ExitUsage {
		t.Fatalf("%q is taken for a command: %v", line, err)
	}
	_, meant, _ := strings.Cut(e.Message, "; did you mean ")
	if meant == "" {
		_, meant, _ = strings.Cut(e.Message, ": ")
		meant += " " + e.Hint
	}
	return strings.TrimSuffix(meant, "?")
}

func TestSynonymsAreUnderstood(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"customer show acme": `"tenant"`, "clients list": `"tenant"`, "token list": `"key"`, "Customers": `"tenant"`,
		"subscription": `"plan"`,
		"unban key_x":  `"petstorectl ban lift"`,
		"block acme":   `"petstorectl ban place" or "petstorectl tenant suspend"`,
		"upgrade acme": `"petstorectl plan assign"`, "log": `"petstorectl audit list"`,
		"history acme":           `"petstorectl audit list" or "petstorectl plan history"`,
		"tenant rename acme zoo": `"edit"`, "tenant new acme": `"create"`, "tenant unsuspend acme": `"resume"`,
		"tenant describe acme": `"show"`,
		"key delete key_x":     `"revoke"`, "key remove key_x --yes": `"revoke"`, "key regenerate key_x": `"rotate"`,
		"key whois": `"petstorectl why"`, "audit export": " petstorectl audit list --oldest-first -o jsonl",
		"key identify": " petstorectl why - < FILE", "key revoked": `"list"`,
		"key unban key_x": `"petstorectl ban lift"`, "plan upgrade acme pro": `"assign"`,
		"plan remove pro": `"retire"`, "plan cancel 8": `"unschedule"`,
		"ban remove key_x": `"lift"`, "ban add key_x": `"place"`, "audit log": `"list"`, "audit history": `"list"`,
		"usage report": `"show"`, "migrate run": `"up"`,
		// Typing errors.
		"kee list": `"key"`, "key isue acme": `"issue"`, "tenant suspned acme": `"suspend"`,
		"plan asssign acme pro": `"assign"`, "ban lits": `"list"`, "ban lit": `"list"`,
		"key rev key_x": `"revoke"`, "tenant creat acme": `"create"`, "plan unschdule 8": `"unschedule"`,
		"key lst": `"list"`, "dcotor": `"doctor"`,
		// The noun comes first; the verb follows it.
		"revoke key_x": "the noun comes before the verb petstorectl key revoke",
		"list keys":    "the noun comes before the verb petstorectl keys list",
		"tenant acme":  " to show one: petstorectl tenant show acme\nsee: petstorectl tenant --help",
		"key acme":     " to list what is of a tenant: petstorectl key list --tenant acme\nsee: petstorectl key --help",
		"audit acme": " to list what is of a tenant: petstorectl audit list --tenant acme\nsee: petstorectl audit " +
			"--help", "audit lst": `"list"`,
		"key key_x": " to show one: petstorectl key show key_x\nsee: petstorectl key --help",
		// Whatever the flags are.
		"foo --bar": " see: petstorectl --help", "foo --help": " see: petstorectl --help",
		"-o json foo": " see: petstorectl --help", "customer --help": `"tenant"`,
		"key delete -h": `"revoke"`, "--help customer": `"tenant"`,
	} {
		assert.Equal(t, suggested(t, line), want, line)
	}
}

// TestNoDangerousNeighbor: a word that means something else, or what was done, is not taken for a
// command that changes something and is spelled almost so.
func TestNoDangerousNeighbor(t *testing.T) {
	t.Parallel()
	for line, never := range map[string]string{
		"tenant rename a": "resume", "tenant consume a": "resume", "tenant unsuspend a": `"suspend"`,
		"tenant suspended": `"suspend"`, "tenant depend a": "suspend", "tenant presume": `"resume"`,
		"tenant remove a": "resume", "tenant reuse a": "resume", "tenant cease a": "erase", "tenant crate": "suspend",
		"key revoked": `"revoke"`, "key invoke x": "revoke", "key unrevoke x": `"revoke"`, "key evoke x": "revoke",
		"key issues": `"issue"`, "key rotated": `"rotate"`, "key rename x": "revoke", "key remote": "revoke",
		"plan remove pro": "move", "plan unassign acme": `"assign"`, "plan approve": "move", "plan love": "move",
		"plan resign": "assign", "plan unretire pro": `"retire"`, "plan avoid 3": `"void"`,
		"plan withdrawn": `"withdraw"`, "plan retired": `"retire"`, "plan boosted": `"boost"`, "plan host": "boost",
		"plan reschedule 3": "unschedule", "plan delete pro": `"create"`,
		"ban list-all": "lift", "ban lifted": `"lift"`, "ban replace x": "place", "ban placed": `"place"`,
		"usage closed": `"close"`, "usage lose": "nothing", "limits preset": "reset", "limits set": `"reset"`,
		"migrate dawn": "up", "migrate town": "up", "migrate pu": `"up"`,
		"unlimit": `"limits"`, "disable": "doctor",
	} {
		got := suggested(t, line)
		assert.True(t, !strings.Contains(got, never), line, got)
	}
}

// TestWrongCommandLines: the tenant that a command needs is an argument, and one that it filters by
// is --tenant. A month is --month, a range --since and --until. Each other spelling is refused, and
// the right one named. So are flags that a command lacks, or that do not fit.
func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"key list acme,ban list acme,audit list acme,plan schedule acme,usage show acme,usage export acme,usage " +
			"events acme": "did you mean --tenant acme?",
		"tenant show --tenant acme,plan history --tenant " +
			"acme,limits reset --customer acme,tail --tenant acme": "TENANT is an argument",
		"key revoke --tenant acme": "did you mean --all-of?", "tenant edit --plan pro acme": "unknown flag: --plan",
		"ban place --duration 1h": "did you mean --for?",
		"usage close 2026-10,usage verify 2026-10,usage export " +
			"2026-10,usage show 2026-10": "did you mean " +
			"--month 2026-10?",
		"usage events --from 7d,plan simulate --from 7d,audit " +
			"list --from 7d,ban list --start 7d": "did you mean " +
			"--since?",
		"usage events --to today,plan simulate --to today,audit " +
			"list --to today": "did you mean --until (exclusive)?",
		"plan boost --start tomorrow": "did you mean --from?",
		"key list --limt 3":           "did you mean --limit?",
		"key revoke --force key_x":    "did you mean --yes?",
		"key list --json":             "did you mean --output json?",
		"key list -o xml": `want table, json, jsonl or csv, ` +
			`not "xml"`, "key list --limit": "flag needs an argument: --limit",
		"version --dry-run": "unknown flag: --dry-run", "tenant list --yes": "unknown flag: --yes",
		"tenant show acme --no-utc":        "unknown flag: --no-utc",
		"completion bash --database-url x": "unknown flag: --database-url",
		"key list -x":                      "unknown shorthand flag: 'x' in -x",
		"plan simulate acme free --month 2026-10 --since " +
			"2026-10-01": "--month can't be used with --since or " +
			"--until",
		"plan simulate acme free --until 2026-10-01": "--until requires --since",
		"plan simulate acme free --since 2026-11-02 --until " +
			"2026-11-01": "--since 2026-11-02 is not before 2026-11-01",
		"plan simulate acme free --since 2020-01-01": "longer than 400 days",
		"plan simulate acme free --since november":   "7d for seven days ago",
		"plan simulate acme":                         "missing argument: PLAN",
		"plan simulate":                              "missing argument: TENANT",
		"plan simulate acme pro --per-minute 5":      "--per-minute and --per-day must be given together",
	} {
		for line := range strings.SplitSeq(lines, ",") {
			root := newCmdRoot(cmdutil.NewFactory(&cmdutil.IOStreams{}))
			root.SetArgs(strings.Fields(line))
			e := (*cmdutil.Error)(nil)
			if err := root.Execute(); !errors.As(err, &e) || e.Code != cmdutil.ExitUsage ||
				!strings.HasSuffix(e.Message, want) {
				t.Errorf("%s: %v, want %q", line, err, want)
			}
		}
	}
}

// TestSynonyms: a word of the synonyms leads to a command, and is none itself where it is looked
// up.
func TestSynonyms(t *testing.T) {
	t.Parallel()
	root := newCmdRoot(cmdutil.NewFactory(&cmdutil.IOStreams{}))
	root.InitDefaultHelpCmd()
	for _, row := range cmdutil.Synonyms {
		for path := range strings.SplitSeq(row.Meant, ",") {
			if _, rest, err := root.Find(strings.Fields(path)); err != nil || len(rest) > 0 {
				t.Errorf("%q: no command %q", row.Names, path)
			}
		}
	}
	verbs := map[string]bool{}
	for _, noun := range root.Commands() {
		for _, verb := range noun.Commands() {
			verbs[verb.Name()] = true
		}
	}
	for _, row := range cmdutil.VerbSynonyms {
		for verb := range strings.FieldsSeq(row.Meant) {
			assert.True(t, verbs[verb], row.Names, "no verb", verb)
		}
	}
}
