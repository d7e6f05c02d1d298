package ctl

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/store/migrate"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

// wantUnknown runs a command and wants it to say that the change may have been made, and where to
// look.
func (e *rightsEnv) wantUnknown(t *testing.T, url, line, see string) {
	t.Helper()
	code, stderr := e.run(t, url, strings.Fields(line))
	said := "petstorectl: the reply of the database was lost: the change may have been made\n" + see
	if code != cmdutil.ExitUnknown || !strings.Contains(stderr, said) || strings.Contains(stderr, "undo:") {
		t.Errorf("%s: exit %d: %s; want %d and %s", line, code, stderr, cmdutil.ExitUnknown, said)
	}
}

// TestLostCommits: every command that changes the database, of which the connection breaks with the
// commit, ends with the exit code 6. Here nothing is made, so that all find the same database.
func TestLostCommits(t *testing.T) {
	t.Parallel()
	e := newRightsEnv(t)
	execSQL(t, e.URL, `update tenants set billing_ref = 'acme' where id = 1;
		select test_usage(1, '2026-10-20 12:00Z', '`+e.key+`', 'pro', 10, 1)`)
	proxy := fixture.NewBreakingProxy(t, e.URL)
	proxy.BreakCommits(fixture.CutRequest)
	eachCommand(newCmdRoot(cmdutil.NewFactory(&cmdutil.IOStreams{})), func(c *cobra.Command) {
		name := strings.TrimPrefix(c.CommandPath(), "petstorectl ")
		if c.Flags().Lookup("dry-run") == nil || name == "migrate up" { // Nothing is pending.
			return
		}
		args := slices.DeleteFunc(
			slices.Clone(e.args(c, name)),
			func(arg string) bool { return arg == "--dry-run" || arg == "--yes" },
		)
		e.wantUnknown(t, proxy.URL, name+" "+strings.Join(args, " ")+" --yes", "")
	})
}

// TestLostReplies: the commit was made, and its reply was lost.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	e := newRightsEnv(t)
	proxy := fixture.NewBreakingProxy(t, e.URL)
	proxy.BreakCommits(fixture.CutAnswer)
	db := fixture.Database{Database: e.Database, Owner: fixture.Connect(t, e.URL)}
	login := "lost_" + db.Text(t, `select right(md5(current_database()), 12)`)
	t.Cleanup(func() { _, _ = db.Owner.Exec(`drop role ` + login) })
	execSQL(t, e.URL, `select test_usage(1, '2026-10-20 12:00Z', '`+e.key+`', 'pro', 10, 1)`)
	for _, tt := range []struct{ line, see, made string }{
		{
			"undo " + db.Text(t, `select max(number)::text from audit_entries`),
			"see: petstorectl audit list --since 10m",
			`select count(*) from audit_entries where action = 'plan.unschedule'`,
		},
		{
			"staff add " + login + " --role support", "see: petstorectl staff list; a secret that was not printed",
			`select count(*) from pg_roles where rolname = '` + login + `'`,
		},
		{
			"key issue acme --name lost", "see: petstorectl audit list --since 10m; a key that was not printed",
			`select count(*) from api_keys where name = 'lost'`,
		},
		{
			"usage events --month 2026-10 -o cloudevents --mark-sent lost",
			"what was written may be recorded as sent",
			`select count(*) from sent_events where receiver = 'lost'`,
		},
		{
			"plan edit free --per-minute 50", "see: petstorectl plan list, and petstorectl plan history TENANT",
			`select count(*) from plan_versions where plan = 'free' and per_minute = 50`,
		},
		{
			"usage close --month 2020-02", "run the command again: it says whether the month is closed",
			`select count(*) from usage_months where month = '2020-02-01'`,
		},
		{
			"tenant erase suspended --yes", "see: petstorectl audit list --since 10m",
			`select count(*) from tenants where name like 'erased-%'`,
		},
		{
			"migrate down --yes", "see: petstorectl migrate status",
			`select version - ` + db.Text(t, `select version - 2 from schema_migrations`) + ` from schema_migrations`,
		},
	} {
		e.wantUnknown(t, proxy.URL, tt.line, tt.see)
		db.Want(t, "1", tt.made)
	}
	status, err := migrate.GetStatus(t.Context(), e.URL)
	assert.True(t, err == nil && status.Version == status.Latest-1, status, err)
	e.wantUnknown(t, proxy.URL, "migrate up", "see: petstorectl migrate status")
}
