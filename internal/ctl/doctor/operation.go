package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
	"petstore.example/internal/store/billing"
)

const (
	// slowAnswer is how long the first query may take, including the network and a connection to a
	// database far away.
	slowAnswer = 250 * time.Millisecond
	// usageBehind is how long a live server may record no usage. An idle one writes once a minute.
	usageBehind = 90 * time.Second
	// failedWithin is how far back requests that ended in 5xx are counted.
	failedWithin = time.Hour
	// retentionBehind is how long expired rows may stay: servers try every minute, but a dump may
	// delay them.
	retentionBehind = 6 * time.Hour
)

// checkOperation checks the conditions of the alerts in deploy/prometheus, as far as the database
// knows them.
func checkOperation(ctx context.Context, db *store.DB, c admin.Checkup) []Finding {
	return []Finding{
		asked("reports", "see what servers report", c.Role, checkReports)(db.Operation.Reports(ctx)),
		checkUsage(ctx, db, c),
		asked("errors", "see failed requests", c.Role, checkErrors)(db.Operation.FailedSince(ctx, failedWithin)),
		asked("sessions", "count sessions", c.Role, checkSessions)(db.Operation.Sessions(ctx)),
		asked("archive", "see whether Postgres archives its log", c.Role, checkArchive)(db.Operation.Archive(ctx)),
		asked("webhooks", "see the keys of webhooks", c.Role, checkWebhooks)(db.Outbox.Keys(ctx)),
		asked("mail", "see how mail works", c.Role, checkMail)(db.Mail.State(ctx)),
		asked(
			"retention",
			"see what was removed",
			c.Role,
			func(rules []admin.RetentionRule) Finding { return checkRetention(rules, c.Now) },
		)(db.Retention.List(ctx)),
	}
}

// cannot is the finding of a check whose query failed, nil if it succeeded.
func cannot(check, task string, role admin.Login, err error) *Finding {
	switch {
	case err == nil:
		return nil
	case store.IsForbidden(err):
		f := skipped(check, role, task)
		return &f
	case store.IsNotMigrated(err):
		return &Finding{check, statusSkip, "the database lacks what this check needs", ""}
	}
	return &Finding{check, statusFail, err.Error(), "run doctor again"}
}

// asked returns a function that makes a query's finding: from its answer by judge, or from its
// error.
func asked[T any](check, task string, role admin.Login, judge func(T) Finding) func(T, error) Finding {
	return func(answer T, err error) Finding {
		if f := cannot(check, task, role, err); f != nil {
			return *f
		}
		return judge(answer)
	}
}

// checkAnswer is the finding of a database that answered.
func checkAnswer(setBy, version string, took time.Duration) Finding {
	f := Finding{"database", statusOK, "PostgreSQL " + version + " answers (set by " + setBy + ")", ""}
	if took >= slowAnswer {
		f.status, f.detail = statusWarn, fmt.Sprintf("%s, but only after %v", f.detail, took.Round(time.Millisecond))
		f.advice = "look for load on the database, and as an administrator for locks: select * from " +
			"pg_stat_activity where wait_event_type = 'Lock'"
	}
	return f
}

// reported says what a server's report means, and what to do. docs/running.md#runbooks says more.
var reported = map[string]string{
	"redis":       "can't reach the Redis of the other servers, and refuses requests",
	"change_feed": "is not notified of changes",
	"disk_full":   "was refused writes, because the disk of Postgres is full",
	"connections": "has refused connections of clients",
	"login":       "connects with another login than it should",
	"schema":      "warned of the schema at its start",
	"secrets":     "has secrets that others can read",
}

func checkReports(reports map[string][]string) Finding {
	if len(reports) == 0 {
		return Finding{"reports", statusOK, "no server reports trouble", ""}
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(reports)) {
		for _, report := range reports[id] {
			meaning := reported[report]
			if meaning == "" {
				meaning = "reports it"
			}
			all = append(all, fmt.Sprintf("%s: %s %s", report, id, meaning))
		}
	}
	return Finding{
		"reports",
		statusWarn,
		strings.Join(all, "; "),
		"see docs/running.md#runbooks, and /readyz?verbose of the server",
	}
}

func checkUsage(ctx context.Context, db *store.DB, c admin.Checkup) Finding {
	behind, err := db.Operation.Behind(ctx, usageBehind)
	if f := cannot("usage", "see what servers recorded", c.Role, err); f != nil {
		return *f
	}
	gone, err := db.Months.Undelivered(ctx, c.Now.Add(-billing.Overdue))
	if f := cannot("usage", "see what servers delivered", c.Role, err); f != nil {
		return *f
	}
	if i := slices.IndexFunc(gone, func(d billing.Delivery) bool { return !d.To.IsZero() }); i >= 0 {
		return Finding{"usage", statusWarn, fmt.Sprintf("no hour after %s is complete: server %s has delivered no more",
			output.Text(gone[i].To), gone[i].ServerID),
			"if its process has ended: petstorectl usage forget " + gone[i].ServerID + " --reason TEXT"}
	}
	if len(behind) == 0 {
		return asked("usage", "see the servers", c.Role, func(state cluster.State) Finding {
			if !anyAlive(state, c.Now) {
				return Finding{"usage", statusSkip, "no server is alive", ""}
			}
			return Finding{"usage", statusOK, "all servers record usage", ""}
		})(db.Cluster.State(ctx))
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(behind)) {
		all = append(all, id+" (last at "+output.Text(behind[id])+")")
	}
	return Finding{"usage", statusWarn, "not recorded by " + strings.Join(all, ", "),
		"look for \"can't record usage\" in the log of the server; do not end it before: what is not recorded is lost"}
}

func checkErrors(kinds []admin.FailedKind) Finding {
	if len(kinds) == 0 {
		return Finding{"errors", statusOK, "no request with a key ended in 5xx within the last hour", ""}
	}
	var all []string
	for _, k := range kinds {
		what := fmt.Sprintf("%d %s", k.Status, k.Code)
		if k.Reason != "" {
			what += " (" + k.Reason + ")"
		}
		all = append(all, fmt.Sprintf("%d × %s", k.Requests, what))
	}
	return Finding{"errors", statusWarn, "ended in 5xx within the last hour, at least: " + strings.Join(all, ", "),
		"run: petstorectl tail; docs/running.md#runbooks says what the reasons mean"}
}

func checkSessions(s admin.Sessions) Finding {
	f := Finding{"sessions", statusOK, fmt.Sprintf("%d of %d connections to Postgres are in use", s.Open, s.Most), ""}
	if 10*s.Open >= 9*s.Most {
		f.status, f.advice = statusWarn,
			"raise max_connections: each server uses up to 30; or end, as an administrator, what does not belong "+
				"there: select * from pg_stat_activity"
	}
	return f
}

// checkArchive warns if Postgres can't be recovered to the second because its log does not reach
// the archive.
func checkArchive(a admin.Archive) Finding {
	switch {
	case !a.On:
		return Finding{"archive", statusSkip, "Postgres archives no write-ahead log", ""}
	case a.Failing:
		return Finding{
			"archive",
			statusWarn,
			"Postgres cannot archive its write-ahead log; last archived: " + a.Last,
			"the log of Postgres says why archive_command fails, and its disk fills meanwhile: see " +
				"docs/running.md#petstorebackupold",
		}
	}
	return Finding{"archive", statusOK, "the write-ahead log is archived; last: " + a.Last, ""}
}

// checkRetention names the kinds of data that servers have not cleaned for retentionBehind. It
// leaves out the audit trail, because only people remove its entries.
func checkRetention(rules []admin.RetentionRule, now time.Time) Finding {
	var all []string
	for _, r := range rules {
		last, when := r.RunAt, "last at "+output.Text(r.RunAt)
		if last.IsZero() {
			last, when = r.BeginsAt, "never"
		}
		if r.Kind != admin.RetentionAudit && now.Sub(last) > retentionBehind {
			all = append(all, r.Kind+" ("+when+")")
		}
	}
	if len(all) == 0 {
		return Finding{"retention", statusOK, "servers delete expired rows", ""}
	}
	return Finding{"retention", statusWarn, "old rows are not removed: " + strings.Join(all, ", "),
		"look for \"delete expired rows\" in the logs of the servers; see docs/running.md#petstoreretentionstandsstill"}
}

// checkRole says what the role may do with petstorectl.
func checkRole(role admin.Login, source cmdutil.DatabaseSource) Finding {
	f := Finding{check: "role", status: statusOK}
	switch {
	case role.Superuser && source.Dev != nil:
		f.detail = "role " + role.Name + " is a superuser, as petstore dev made it"
	case role.Superuser:
		f.status, f.detail = statusWarn, "role "+role.Name+" is a superuser"
		f.advice = "use a login in petstore_support or petstore_billing, and the owner of the tables for " +
			"migrations: see docs/roles.md"
	case role.Owner:
		f.detail = "role " + role.Name + " owns the tables, so it may run all commands"
	case role.Support && role.Billing:
		f.detail = "role " + role.Name + " is a member of petstore_support and petstore_billing"
	case role.Support:
		f.detail = "role " + role.Name + " is a member of petstore_support"
	case role.Billing:
		f.detail = "role " + role.Name + " is a member of petstore_billing"
	default:
		f.status, f.detail = statusFail, "role "+role.Name+
			" is a member of neither petstore_support nor petstore_billing"
		if role.API {
			f.detail += ", but of petstore_api, the role of servers"
		}
		f.advice = "ask an administrator for a login in one of them: see docs/roles.md"
	}
	return f
}

// checkLogins shows whether the servers have more rights in the database than they need.
func checkLogins(logins []admin.Login) Finding {
	var names, excess []string
	for _, l := range logins {
		names = append(names, l.Name)
		if more := l.Excess(); more != "" {
			excess = append(excess, l.Name+" "+more)
		}
	}
	f := Finding{"logins", statusOK, "no server is connected", ""}
	if len(names) > 0 {
		f.detail = fmt.Sprintf("servers connect as %s, with no more rights than they need", strings.Join(names, ", "))
	}
	if len(excess) > 0 {
		f.status = statusWarn
		f.detail = output.Count(
			int64(len(excess)),
			"login",
		) + " of servers with too many rights: " + strings.Join(
			excess,
			"; ",
		)
		f.advice = "give servers a login in petstore_api alone: see docs/roles.md"
	}
	return f
}
