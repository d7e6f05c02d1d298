package ctl

import (
	"bytes"
	"cmp"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

const rolesFile = "../../docs/roles.md"

// rightsEnv is a database on which each command has something to do.
type rightsEnv struct {
	*storetest.Database
	key, banned, token string
	// receiver is the file of one.
	receiver string
	// scheduled is an assignment that has not begun, begun one that has.
	scheduled, begun int64
	// undoable is an audit entry that can be taken back.
	undoable int64
}

func newRightsEnv(t *testing.T) *rightsEnv {
	t.Helper()
	e := &rightsEnv{Database: storetest.New(t), receiver: filepath.Join(t.TempDir(), "cloudevents.receiver")}
	assert.NoError(t, os.WriteFile(e.receiver, []byte("FORMAT=cloudevents\nURL=http://localhost:1/\n"), 0o600))
	addServer(t, e.URL, "live")
	db := storetest.Open(t, e.URL, store.Options{})
	by := audit.By{Actor: "test"}
	e.token = storetest.IssueKey(t, db, tenancy.NewTenant{Name: "acme", Plan: plans.Pro})
	storetest.IssueKey(t, db, tenancy.NewTenant{Name: "suspended", Plan: plans.Pro})
	_, err := db.Tenants.Suspend(t.Context(), by, "suspended", time.Now())
	assert.NoError(t, err)
	// A tenant that can be moved, and a version that can be withdrawn.
	for plan, edit := range map[string]plans.VersionEdit{
		plans.Pro:      {PerMinute: 250, KeepExisting: true},
		plans.Business: {PerMinute: 900, From: time.Now().AddDate(0, 0, 1)},
	} {
		_, err := db.Plans.Edit(t.Context(), by, plan, pricing.PlanEdit{Numbers: &edit})
		assert.NoError(t, err)
	}
	list, err := store.Collect(db.Keys.List(t.Context(), tenancy.KeyFilter{Limit: 2}, time.Now()))
	assert.NoError(t, err)
	e.key, e.banned = list[0].ID, list[1].ID
	// A closed month in which acme was on a plan, a server that has ended, and a receiver.
	execSQL(
		t,
		e.URL,
		`insert into receivers (name, format, begins) values ('stripe', 'stripe', '2026-10-01Z');
		select set_config('petstore.audited', 'on', true);
		update tenants set billing_ref = 'cus_1' where name = 'acme';
		insert into tenant_plans (tenant_id, valid_from, plan) select id, '2020-01-01Z', 'pro' from tenants where
			name = 'acme';
		insert into endpoints (tenant_id, environment, url, events, verified_at)
			select id, 'live', 'https://example.com', '{*}', now() from tenants where name = 'acme';
		insert into usage_writers (server_id, batch, written_at, delivered_to) values ('gone', 1, now(), now())`,
	)
	_, err = db.Months.Close(t.Context(), by, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), nil)
	assert.NoError(t, err)
	_, err = db.Bans.Place(
		t.Context(),
		by,
		tenancy.NewBan{KeyID: e.banned, Length: time.Hour, Reason: "test"},
		time.Now(),
	)
	assert.NoError(t, err)
	for entry, err := range db.Audit.List(t.Context(), trail.Filter{Limit: 1}) {
		assert.NoError(t, err)
		e.undoable = entry.Number
	}
	done, err := db.Timelines.Assign(t.Context(), by, pricing.NewAssignment{
		Tenant: "acme", Kind: plans.Assigned, Plan: plans.Free, From: time.Now().AddDate(0, 1, 0),
	})
	assert.NoError(t, err)
	e.scheduled, e.begun = done.Assignment.ID, done.Tenant.Assignment
	return e
}

// argument is one that a command needs.
var argument = regexp.MustCompile(`[A-Z][A-Z-]+`)

// args are those with which a command is tried, and leaves nothing behind: those that it needs by
// its usage, if it has no others here.
func (e *rightsEnv) args(c *cobra.Command, name string) []string {
	if args, ok := map[string][]string{
		"tenant create":   {"new", "--plan", "pro", "--dry-run"},
		"tenant invite":   {"acme", "--url", "https://api.example.com/v1", "--dry-run"},
		"tenant resume":   {"suspended", "--dry-run"},
		"tenant erase":    {"suspended", "--dry-run"},
		"key edit":        {e.key, "--name", "x", "--dry-run"},
		"plan create":     {"new", "--per-minute", "1", "--per-day", "1", "--dry-run"},
		"plan edit":       {"free", "--per-minute", "50", "--dry-run"},
		"plan move":       {"pro", "--all", "--dry-run"},
		"plan withdraw":   {"business", "--dry-run"},
		"plan assign":     {"acme", "business", "--dry-run"},
		"plan simulate":   {"acme", "free"},
		"plan boost":      {"acme", "--per-minute", "400", "--until", "2h", "--dry-run"},
		"plan unschedule": {fmt.Sprint(e.scheduled), "--dry-run"},
		"plan void":       {fmt.Sprint(e.begun), "--reason", "test", "--dry-run"},
		"tenant edit":     {"acme", "--billing-ref", "cus_123", "--dry-run"},
		"ban place":       {e.key, "--for", "1h", "--reason", "test", "--dry-run"},
		"retention set":   {"bans", "90d", "--yes", "--dry-run"},
		"retention run":   {"--audit", "--yes", "--dry-run"},
		"ban lift":        {e.banned, "--dry-run"},
		"usage show":      {"--by", "key"},
		"usage events":    {"--month", "2026-10", "-o", "lago", "--mark-sent", "lago", "--dry-run"},
		"usage hand-on":   {e.receiver, "--from", "2026-10-01", "--dry-run"},
		"usage resend":    {"acme", "--receiver", "stripe", "--since", "2026-10-01", "--reason", "test", "--dry-run"},
		"usage waive":     {"acme", "--receiver", "stripe", "--reason", "test", "--dry-run"},
		"usage close":     {"--month", "2020-02", "--dry-run"},
		"usage forget":    {"gone", "--reason", "r", "--dry-run"},
		"usage verify":    {"--month", "2020-01"},
		"audit show":      {"1"},
		"why":             {"acme"},
		"tail":            {"acme", "--for", "1s"},
		"staff add":       {"new", "--role", "support", "--dry-run"},
		"staff rotate":    {storetest.BillingLogin, "--dry-run"},
		"staff remove":    {storetest.BillingLogin, "--yes", "--dry-run"},
		"login":           {e.URL, "--profile", "here"},
		"logout":          {"--profile", "stored"},
		"undo":            {fmt.Sprint(e.undoable), "--dry-run"},
		"migrate up":      {},
		"migrate down":    {"--yes"},
		"completion":      {"bash"},
	}[name]; ok {
		return args
	}
	var args []string
	usage, _, _ := strings.Cut(strings.NewReplacer("[", "|", "--", "|").Replace(c.Use), "|")
	for _, word := range argument.FindAllString(usage, -1) {
		args = append(
			args,
			cmp.Or(map[string]string{"TENANT": "acme", "KEY-ID": e.key, "PLAN": "pro", "WEBHOOK": "1"}[word], "x"),
		)
	}
	for _, flag := range []string{"dry-run", "yes"} {
		if c.Flags().Lookup(flag) != nil {
			args = append(args, "--"+flag)
		}
	}
	return args
}

func (e *rightsEnv) run(t *testing.T, url string, args []string) (code int, stderr string) {
	t.Helper()
	var messages bytes.Buffer
	f := cmdutil.NewFactory(&cmdutil.IOStreams{In: strings.NewReader(e.token), Out: &bytes.Buffer{}, ErrOut: &messages})
	if args[0] == "login" || args[0] == "logout" { // They change files of this user.
		cmd := sandbox.Command(t, "petstorectl", args...)
		home := t.TempDir()
		cmd.Env = append(cmd.Env, "HOME="+home, "PETSTORE_DATABASE_URL="+url, "GORACE=atexit_sleep_ms=0")
		stored := "[stored]\n# petstorectl login; its secret expires: never\nhost=localhost\n"
		assert.Equal(t, os.WriteFile(filepath.Join(home, ".pg_service.conf"), []byte(stored), 0o600), nil)
		cmd.Stderr = &messages
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode(), messages.String()
	}
	f.Getenv = func(name string) string {
		return map[string]string{"PETSTORE_DATABASE_URL": url, "PETSTORE_ACTOR": "test"}[name]
	}
	defer f.Close()
	return Run(t.Context(), f, args), messages.String()
}

// TestCommandsOfRoles runs every command in every role: it is allowed, or refused with one sentence
// and exit code 4, as docs/roles.md says. With UPDATE_DOCS it writes the table.
func TestCommandsOfRoles(t *testing.T) {
	t.Parallel()
	e := newRightsEnv(t)
	owner := storetest.As(t, e.URL, storetest.OwnerLogin)
	const head = "| command | `petstore_support` | `petstore_billing` | `petstore_api` | owner " +
		"|\n|---|---|---|---|---|\n"
	// Commands of one noun with the same cells share a row, as in `key list`, `show`.
	var rows []string
	at := map[string]int{}
	eachCommand(newCmdRoot(cmdutil.NewFactory(&cmdutil.IOStreams{})), func(c *cobra.Command) {
		name := strings.TrimPrefix(c.CommandPath(), "petstorectl ")
		if c.HasSubCommands() || c.Name() == "help" {
			return
		}
		args := e.args(c, name)
		var cells [4]string
		var all sync.WaitGroup
		for i, url := range []string{e.SupportURL, e.BillingURL, e.APIURL, owner} {
			args := args
			if url == owner {
				all.Wait() // The owner may do what the others may, and some of it one at a time.
			}
			if url == owner && name == "migrate down" {
				args = append(args, "--dry-run")
			}
			all.Go(func() { cells[i] = e.try(t, url, name, args) })
		}
		all.Wait()
		noun, verb, _ := strings.Cut(name, " ")
		group := noun + strings.Join(cells[:], "")
		if i, ok := at[group]; ok && verb != "" {
			before, _, _ := strings.Cut(rows[i], " |")
			rows[i] = before + ", `" + verb + "` |" + strings.Join(cells[:], "") + "\n"
			return
		}
		at[group] = len(rows)
		rows = append(rows, "| `"+name+"` |"+strings.Join(cells[:], "")+"\n")
	})
	sandbox.Page(t, rolesFile, regexp.MustCompile(regexp.QuoteMeta(head)+`(?:\|.*\n)*`), head+strings.Join(rows, ""))
}

// try runs a command and returns its cell of the table.
func (e *rightsEnv) try(t *testing.T, url, name string, args []string) string {
	t.Helper()
	code, stderr := e.run(t, url, slices.Concat(strings.Fields(name), args))
	switch {
	case code == cmdutil.ExitOK,
		name == "doctor" && code == cmdutil.ExitFailed: // A check found something, as no server is alive.
		return " yes |"
	case code != cmdutil.ExitRefused:
		t.Errorf("%s as %s: exit %d: %s", name, storetest.LoginOf(t, url), code, stderr)
		return ""
	}
	checkRefusal(t, name, stderr)
	// Nor is it asked for --yes.
	bare := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--yes" || arg == "--dry-run" })
	if len(bare) < len(args) {
		_, stderr := e.run(t, url, slices.Concat(strings.Fields(name), bare))
		checkRefusal(t, name, stderr)
	}
	return " – |"
}

var refusalForm = regexp.MustCompile(
	`^petstorectl: your login \w+ is in the role petstore_\w+, which may not [a-z][^:]+: ask ` +
		`(somebody in petstore_(support|billing)|somebody who connects as the owner of the tables)\n$|` +
		`^petstorectl: your login \w+ may not manage logins: it lacks CREATEROLE\nask an administrator, who can run ` +
		`in SQL: [a-z]+ role .+\n$`,
)

func checkRefusal(t *testing.T, name, stderr string) {
	t.Helper()
	assert.True(t, refusalForm.MatchString(stderr), name, "is refused with", stderr)
}

// TestRefusals shows the sentences in full.
func TestRefusals(t *testing.T) {
	t.Parallel()
	e := newRightsEnv(t)
	for _, tt := range []struct{ url, command, want string }{
		{e.BillingURL, "key issue acme",
			"your login bill is in the role petstore_billing, which may not issue a key and print it once: ask " +
				"somebody in petstore_support"},
		{e.BillingURL, "ban list", "your login bill is in the role petstore_billing, which may not list bans in " +
			"force: ask somebody in petstore_support"},
		{e.SupportURL, "migrate up", "your login sam is in the role petstore_support, which may not apply all " +
			"pending migrations: ask somebody who connects as the owner of the tables"},
		{
			storetest.As(t, e.URL, storetest.OtherLogin), "tenant list",
			"your login olga is in none of the roles petstore_support and petstore_billing: ask an administrator " +
				"for one",
		},
		{
			storetest.As(t, e.URL, storetest.OtherLogin), "migrate up",
			"your login olga may not apply all pending migrations: ask somebody who connects as the owner of the " +
				"tables",
		},
	} {
		code, stderr := e.run(t, tt.url, strings.Fields(tt.command))
		if code != cmdutil.ExitRefused || stderr != "petstorectl: "+tt.want+"\n" {
			t.Errorf("%s: exit %d, %q, want %q", tt.command, code, stderr, tt.want)
		}
	}
}

// TestWhatBillingSeesOfKeys: their IDs in usage, and nothing else.
func TestWhatBillingSeesOfKeys(t *testing.T) {
	t.Parallel()
	e := newRightsEnv(t)
	owner := storetest.Open(t, e.URL, store.Options{})
	name := "nightly"
	service := keys.Service{Store: owner.Keys}
	_, _, err := service.Edit(t.Context(), audit.By{Actor: "test"}, e.key, keys.Edit{Name: &name})
	assert.NoError(t, err)
	tenant, err := owner.Tenants.Get(t.Context(), "acme")
	assert.NoError(t, err)
	plain, err := sql.Open("postgres", e.URL)
	assert.NoError(t, err)
	defer plain.Close()
	_, err = plain.ExecContext(t.Context(), `select test_usage($1, now(), $2, 'pro', 3, 1)`, tenant.ID, e.key)
	assert.NoError(t, err)
	for url, want := range map[string]billing.UsageRow{
		e.SupportURL: {Tenant: "acme", KeyID: e.key, KeyName: name, Admitted: 3, Refused: 1},
		e.BillingURL: {Tenant: "acme", KeyID: e.key, Admitted: 3, Refused: 1},
	} {
		query := billing.UsageQuery{From: time.Unix(0, 0), To: time.Now().Add(time.Hour), By: billing.ByKey, Limit: 9}
		got, err := store.Collect(storetest.Open(t, url, store.Options{}).Usage.Report(t.Context(), query))
		assert.Result(t, got, err, []billing.UsageRow{want})
	}
	if code, stderr := e.run(
		t,
		e.BillingURL,
		[]string{"tenant", "show", "acme", "-o", "json"},
	); code != cmdutil.ExitOK {
		t.Errorf("tenant show: exit %d: %s", code, stderr)
	}
}
