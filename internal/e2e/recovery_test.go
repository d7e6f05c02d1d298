package e2e_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/pgtest"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// backup is a Postgres that pgBackRest backs up as docs/running.md and deploy/backup say. Only
// paths are others.
type backup struct {
	*storetest.PrivateServer
	t    *testing.T
	page string
	// dir has the configuration and the repository.
	dir string
}

func newBackup(t *testing.T) *backup {
	t.Helper()
	parent, remove, err := pgtest.TempDir(true) // Postgres's user passes through it
	assert.NoError(t, err)
	t.Cleanup(remove)
	b := &backup{t: t, page: programs.Read(t, "../../docs/running.md"), dir: filepath.Join(parent, "pgbackrest")}
	settings := map[string]string{}
	for _, s := range regexp.MustCompile(`(?m)^(archive_\w+) = '?(.*?)'?$`).FindAllStringSubmatch(b.page, -1) {
		settings[s[1]] = b.here(s[2])
	}
	assert.Equal(t, len(settings), 3, "settings of the page", settings)
	b.PrivateServer = storetest.NewServerWith(t, settings)
	config := programs.Read(t, "../../deploy/backup/pgbackrest.conf")
	for from, to := range map[string]string{"=/var/lib/pgbackrest": "=" + b.dir, "=/var/lib/postgresql/15/main": "=" +
		b.DataDir()} {
		assert.Contains(t, config, from)
		config = strings.Replace(config, from, to, 1)
	}
	socket := regexp.MustCompile(`host=([^&]+)`).FindStringSubmatch(b.URL)
	config += "pg1-socket-path=" + strings.ReplaceAll(
		socket[1],
		"%2F",
		"/",
	) + "\npg1-user=postgres\npg1-database=postgres\n" +
		"[global:archive-push]\nlog-level-console=off\n" // Postgres would log it
	config = strings.Replace(config, "[global]\n", "[global]\nlog-path="+b.dir+"\nlock-path="+b.dir+"/lock\n", 1)
	assert.NoError(t, os.Mkdir(b.dir, 0o700))
	assert.NoError(t, os.WriteFile(b.config(), []byte(config), 0o644))
	b.Own(b.dir)
	return b
}

func (b *backup) config() string { return filepath.Join(filepath.Dir(b.dir), "pgbackrest.conf") }

// here has the commands read the configuration of this test.
func (b *backup) here(commands string) string {
	return regexp.MustCompile(
		`\bpgbackrest --stanza`,
	).ReplaceAllString(
		commands,
		"pgbackrest --config="+b.config()+" --stanza",
	)
}

// run runs commands of the page as the user of Postgres.
func (b *backup) run(commands string) string {
	b.t.Helper()
	cmd := sandbox.Command(b.t, "sh", "-ec", b.here(commands))
	cmd.Dir = "/"
	b.RunAsOwner(cmd)
	out, err := cmd.CombinedOutput()
	assert.NoError(b.t, err, commands, out)
	return string(out)
}

// take runs the unit of a full or a differential backup.
func (b *backup) take(kind string) {
	b.t.Helper()
	unit := programs.Read(b.t, "../../deploy/backup/petstore-backup@.service")
	start := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/(.*)$`).FindStringSubmatch(unit)
	b.run(strings.ReplaceAll(start[1], "%i", kind))
}

// restore removes the data of a server that is gone, and recovers it to an instant, with further
// options.
func (b *backup) restore(to time.Time, options string) {
	b.t.Helper()
	b.RemoveData()
	command := regexp.MustCompile(`(?m)^ *(pgbackrest .*--target='.*restore)$`).FindStringSubmatch(b.page)
	assert.True(b.t, command != nil, "the page has no restore")
	target := regexp.MustCompile(
		`--target='[^']*'`,
	).ReplaceAllString(
		command[1],
		"--target='"+to.UTC().Format("2006-01-02 15:04:05+00")+"' "+options,
	)
	b.run(target)
	b.Start()
	db, err := sql.Open("postgres", b.URL)
	assert.NoError(b.t, err)
	defer db.Close()
	wait.Until(b.t, "the end of the recovery, during which Postgres reads", func() (recovering bool) {
		assert.NoError(b.t, db.QueryRow(`select pg_is_in_recovery()`).Scan(&recovering))
		return !recovering
	})
}

// archived waits until all that is committed by now is in the repository. The page's
// archive_timeout does the same within a minute.
func (b *backup) archived(d *deployment) {
	b.t.Helper()
	var segment string
	d.scan(&segment, `select pg_walfile_name(pg_switch_wal())`)
	wait.Until(b.t, "the write-ahead log archived", func() bool {
		return d.number(`select count(*) from pg_stat_archiver where last_archived_wal >= $1`, segment) == 1
	})
}

// TestRecoveryToASecond takes a base backup, loses Postgres under load (kill -9, and its data), and
// recovers it to a second: what was acknowledged by then is there, and nothing that was sent after
// it. What docs/running.md says that a restore takes back is taken back.
func TestRecoveryToASecond(t *testing.T) {
	t.Parallel()
	if !long() {
		tryRecovery(t)
		return
	}
	for n := range 5 {
		t.Run(fmt.Sprint(n), tryRecovery)
	}
}

func tryRecovery(t *testing.T) {
	b := newBackup(t)
	d := newDeploymentOn(t, b.URL, "")
	begin := regexp.MustCompile("```sh\n((?:pgbackrest .*\n)+)```").FindStringSubmatch(b.page)
	assert.True(t, begin != nil, "the page does not say how to begin")
	assert.NoError(t, os.Rename(b.config(), b.config()+".away"))
	d.exec(`select pg_switch_wal()`)
	wait.Until(
		t,
		"a segment that can't be archived",
		func() bool { return d.number(`select failed_count from pg_stat_archiver`) > 0 },
	)
	assert.Contains(
		t,
		d.tryCtl("doctor", "-o", "csv").stdout,
		"archive,warn,Postgres cannot archive its write-ahead log; last archived: never,",
	)
	assert.NoError(t, os.Rename(b.config()+".away", b.config()))
	b.run(begin[1])
	b.take("full")
	assert.Contains(t, d.tryCtl("doctor", "-o", "csv").stdout, "archive,ok,the write-ahead log is archived; last: 2")
	s := d.serve()
	r := newRecovery(d, b)
	load := startLoad(4, func(caller, n int) response {
		return d.client.post(s, r.customer.keys[0].token, fmt.Sprintf("%d-%d", caller, n))
	})
	if long() {
		b.take("diff")
	}
	more := func() {
		before := d.number(`select count(*) from pets`)
		wait.Until(t, "more animals", func() bool { return d.number(`select count(*) from pets`) > before+50 })
	}
	passSecond := func() time.Time {
		more()
		second := time.Now().Truncate(time.Second).Add(time.Second)
		time.Sleep(time.Until(second)) // until it has passed
		return second
	}
	r.to = passSecond()
	r.changeMore()
	later := passSecond()
	more()
	timeline := d.number(`select timeline_id from pg_control_checkpoint()`)
	b.archived(d)
	b.Kill()
	s.Kill()
	responses, lost := load(), time.Now()
	b.restore(r.to, "")
	t.Logf("recovered within %v", time.Since(lost).Round(time.Millisecond))
	d = newDeploymentOn(t, b.URL, "")
	checkRecovered(d, responses, r.to)
	r.check(d)
	if long() { // It was the wrong second.
		b.Kill()
		b.restore(later, fmt.Sprintf("--target-timeline=%d", timeline))
		checkRecovered(newDeploymentOn(t, b.URL, ""), responses, later)
	}
}

// recovery is what staff did before the second to which it is recovered, and after it.
type recovery struct {
	*deployment
	billingURL string
	customer   *tenant
	to         time.Time
	month      string
	// early and late are checkpoints of the audit trail, events what was sent, issued a key that is
	// lost.
	early, late, events string
	issued              key
}

func newRecovery(d *deployment, b *backup) *recovery {
	r := &recovery{deployment: d, billingURL: b.BillingURL, customer: d.tenant(plans.Enterprise, hugeQuota, 2)}
	d.scan(
		&r.month,
		`select to_char(date_trunc('month', now() at time zone 'UTC') - interval '1 month 1 day', 'YYYY-MM')`,
	)
	d.exec(
		`select test_usage($1, ($2 || '-28Z')::timestamptz, $3, 'enterprise', 100, 0)`,
		r.customer.ID,
		r.month,
		r.customer.keys[0].id,
	)
	r.early = r.checkpoint()
	return r
}

func (r *recovery) checkpoint() string {
	r.t.Helper()
	return strings.TrimSpace(r.ctl("audit", "verify", "-o", "json", "--jq", ".checkpoint").stdout)
}

// bill runs petstorectl as a person in billing.
func (r *recovery) bill(args ...string) string {
	r.t.Helper()
	c := runCtl(
		r.deployment,
		"",
		[]string{"PETSTORE_DATABASE_URL=" + r.billingURL},
		append(args, "--reason", "test")...)
	assert.Equal(r.t, c.code, 0, args, c.stderr)
	return c.stdout
}

func (r *recovery) send() string {
	r.t.Helper()
	return r.bill(
		"usage",
		"events",
		"--since",
		r.month+"-28",
		"--until",
		r.month+"-29",
		"-o",
		"cloudevents",
		"--mark-sent",
		"receiver",
	)
}

// changeMore makes changes that are lost.
func (r *recovery) changeMore() {
	r.t.Helper()
	r.ctl("key", "revoke", r.customer.keys[1].id, "--yes", "--reason", "test")
	r.issued = r.issue(r.customer.Name)
	r.events = r.send()
	assert.Contains(r.t, r.events, `"id":`)
	r.bill("usage", "close", "--month", r.month, "--wait", "0")
	r.late = r.checkpoint()
}

// check finds in the recovered database what was before, and nothing of what came later.
func (r *recovery) check(d *deployment) {
	r.t.Helper()
	r.deployment = d
	r.ctl("audit", "verify", "--checkpoint", r.early)
	c := r.tryCtl("audit", "verify", "--checkpoint", r.late)
	assert.Equal(r.t, c.code, 1, "audit verify with a later checkpoint", c.stdout, c.stderr)
	s := d.serve()
	for k, want := range map[key]int{r.customer.keys[1]: 200, r.issued: 401} {
		assert.Equal(
			r.t,
			d.patient.get(s, k.token, "/pets?limit=1").status,
			want,
			"a key that was revoked or issued later",
		)
	}
	assert.Equal(r.t, r.send(), r.events, "events that are sent again")
	r.bill("usage", "close", "--month", r.month, "--wait", "0")
	s.Kill()
}

// checkRecovered compares what was acknowledged with what is there.
func checkRecovered(d *deployment, responses []response, to time.Time) {
	d.t.Helper()
	var names []string
	d.scan(pq.Array(&names), `select array_agg(name) from pets`)
	there := map[string]bool{}
	for _, name := range names {
		there[name] = true
	}
	var acknowledged, after int
	for _, a := range responses {
		if a.status != 201 {
			continue
		}
		name := regexp.MustCompile(`"name":"([^"]+)"`).FindStringSubmatch(string(a.body))[1]
		switch {
		case a.got.Before(to):
			acknowledged++
			assert.True(d.t, there[name], name, "was acknowledged before the second, and is lost")
		case a.sent.After(to):
			after++
			assert.True(d.t, !there[name], name, "was sent after the second, and is there")
		}
	}
	d.t.Logf(
		"%d acknowledged before %v: all there; %d acknowledged after it: none there; %d are there",
		acknowledged,
		to.UTC().Format(time.TimeOnly),
		after,
		len(there),
	)
	assert.True(d.t, acknowledged > 10 && after > 10, "few requests:", acknowledged, after)
}
