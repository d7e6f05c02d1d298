package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/advice"
	"petstore.example/internal/cluster"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
	"petstore.example/internal/store/migrate"
)

const (
	// skewWarn and skewFail are the differences between this machine's clock and the database's
	// from which on the check warns or fails.
	skewWarn = time.Second
	skewFail = time.Minute
)

// check runs all checks. If the database does not answer, that is the only finding.
func check(ctx context.Context, f *cmdutil.Factory) ([]Finding, error) {
	source, err := f.FindDatabase()
	if err != nil {
		return nil, err
	}
	db, err := f.DB(ctx)
	if err != nil {
		if cmdutil.IsInterrupted(err) {
			return nil, err
		}
		if store.IsForbidden(err) { // A login without a role may not connect.
			return []Finding{checkRole(admin.Login{Name: source.Target.Login}, source)}, nil
		}
		return []Finding{unreachable(source, err)}, nil
	}
	before, began := f.Now(), time.Now()
	c, err := db.Checkup(ctx)
	if err != nil {
		return []Finding{unreachable(source, err)}, nil
	}
	after, took := f.Now(), time.Since(began)
	findings := []Finding{
		checkAnswer(source.SetBy, c.Version, took),
		checkSchema(ctx, source, c.Role), checkRole(c.Role, source), checkClock(before, c.Now, after),
	}
	if source.Dev == nil { // the login of petstore dev owns the tables
		findings = append(findings, asked("logins", "", admin.Login{}, checkLogins)(db.ServerLogins(ctx)))
	}
	findings = append(
		findings,
		asked("catalogue", "see whether tenants have animals", c.Role, checkCatalogues)(db.Catalogues(ctx)),
	)
	findings = append(findings, checkCluster(ctx, db, c)...)
	return append(findings, checkOperation(ctx, db, c)...), nil
}

// checkCatalogues warns if the database was restored without its animals: row-level security hides
// them from a dump by the owner.
func checkCatalogues(c admin.Catalogues) Finding {
	text := fmt.Sprintf("%%s: %%d of %s that sent requests last", output.Count(c.Tenants, "tenant"))
	switch {
	case c.Tenants == 0:
		return Finding{"catalogue", statusOK, "no tenant has sent requests", ""}
	case c.Missing():
		return Finding{"catalogue", statusWarn, fmt.Sprintf(text, "no animals", c.Empty),
			"if they had some, the database was restored without these rows: see docs/running.md#backup-and-restore"}
	}
	return Finding{"catalogue", statusOK, fmt.Sprintf(text, "animals found", c.Tenants-c.Empty), ""}
}

func checkCluster(ctx context.Context, db *store.DB, c admin.Checkup) []Finding {
	state, err := db.Cluster.State(ctx)
	if f := cannot("servers", "see the servers", c.Role, err); f != nil {
		return []Finding{*f}
	}
	clocks := asked("clocks", "see the clocks of servers", c.Role, func(off map[string]time.Duration) Finding {
		return checkServerClocks(off, anyAlive(state, c.Now))
	})(db.Cluster.ClocksOff(ctx))
	months := asked("months", "see the months' totals", c.Role, func(wrong wrongMonths) Finding {
		return checkMonths(state, c.Now, wrong)
	})(readWrongMonths(ctx, db))
	return []Finding{checkServers(state, c.Now), clocks, checkTerm(state, c.Now), months}
}

// skipped is the finding of a check that the role has no right for.
func skipped(check string, role admin.Login, task string) Finding {
	return Finding{check, statusSkip, "role " + role.Name + " may not " + task, ""}
}

func unreachable(source cmdutil.DatabaseSource, err error) Finding {
	do := cmp.Or(advice.On(err), "check that it is running and that "+source.SetBy+" is correct")
	if source.Dev != nil {
		do = `check that "petstore dev" is running`
	}
	return Finding{"database", statusFail, err.Error(), do}
}

func checkSchema(ctx context.Context, source cmdutil.DatabaseSource, role admin.Login) Finding {
	status, err := migrate.GetStatus(ctx, source.URL)
	f := Finding{check: "schema", status: statusFail}
	switch {
	case store.IsForbidden(err):
		return skipped("schema", role, "see the version of the schema")
	case err != nil:
		f.detail, f.advice = err.Error(), "run: petstorectl migrate status"
	case status.Running != nil:
		f.status = statusWarn
		f.detail = fmt.Sprintf("version %d, and a migration runs: %v", status.Version, status.Running)
		f.advice = "wait until it is done; " + status.Running.End()
	case status.Version > status.Latest:
		f.detail = fmt.Sprintf(
			"version %d is newer than this petstorectl, which knows version %d",
			status.Version,
			status.Latest,
		)
		f.advice = "use the petstorectl of the release that migrated the database"
	case status.Version == 0:
		f.detail, f.advice = "the database was never migrated", "run: petstorectl migrate up"
	case len(status.Pending) > 0:
		f.detail = fmt.Sprintf("version %d of %d: servers of this release do not start", status.Version, status.Latest)
		f.advice = "run: petstorectl migrate up"
	default:
		f.status, f.detail = statusOK, fmt.Sprintf("version %d, the latest", status.Version)
	}
	return f
}

// checkClock compares the database's clock with this machine's, read before and after it.
func checkClock(before, database, after time.Time) Finding {
	var skew time.Duration
	switch {
	case database.Before(before):
		skew = before.Sub(database)
	case database.After(after):
		skew = database.Sub(after)
	}
	f := Finding{"clock", statusOK, "this machine's clock agrees with the database's", ""}
	if skew < skewWarn {
		return f
	}
	f.status, f.detail = statusWarn, fmt.Sprintf(
		"the clocks of this machine and the database differ by %v",
		skew.Round(100*time.Millisecond),
	)
	f.advice = "synchronize both clocks with NTP: windows, bans and expiry depend on them"
	if skew >= skewFail {
		f.status = statusFail
	}
	return f
}

// checkServerClocks names the servers whose clocks are off.
func checkServerClocks(off map[string]time.Duration, alive bool) Finding {
	switch {
	case len(off) == 0 && !alive:
		return Finding{"clocks", statusSkip, "no server is alive", ""}
	case len(off) == 0:
		return Finding{"clocks", statusOK, "the clocks of all servers agree with the database's", ""}
	}
	var names []string
	for _, id := range slices.Sorted(maps.Keys(off)) {
		direction := "ahead"
		if off[id] < 0 {
			direction = "behind"
		}
		names = append(names, fmt.Sprintf("%s by %v, %s", id, off[id].Abs().Round(time.Second), direction))
	}
	return Finding{
		"clocks",
		statusWarn,
		fmt.Sprintf(
			"the clocks of %s differ from the database's: %s",
			output.Count(int64(len(off)), "server"),
			strings.Join(names, "; "),
		),
		"synchronize them with NTP; the servers act by the database's clock meanwhile",
	}
}

// wrongMonths is how many tenants' running totals of the month are wrong, and one of them.
type wrongMonths struct {
	count  int64
	tenant string
}

func readWrongMonths(ctx context.Context, db *store.DB) (wrong wrongMonths, err error) {
	wrong.count, wrong.tenant, err = db.Usage.WrongMonths(ctx, time.Time{})
	return wrong, err
}

// checkMonths shows whether limits per month are enforced, from totals that are those of the
// records.
func checkMonths(s cluster.State, now time.Time, wrong wrongMonths) Finding {
	var last []string
	for _, server := range s.Servers {
		if isAlive(server, now) && server.NoMonths {
			last = append(last, server.ID)
		}
	}
	switch {
	case wrong.count > 0:
		return Finding{
			"months",
			statusFail,
			fmt.Sprintf("the totals of this month differ from the recorded usage of %s, such as %s",
				output.Count(wrong.count, "tenant"), wrong.tenant),
			"run for each: petstorectl limits reset TENANT",
		}
	case len(last) > 0:
		return Finding{
			"months",
			statusWarn,
			"not enforced while servers of the last release are alive: " + strings.Join(last, ", "),
			"finish the upgrade: a term with months begins when the last of them has ended",
		}
	}
	return Finding{"months", statusOK, "the totals of this month are those of the recorded usage", ""}
}

// isAlive reports whether the server has sent a heartbeat lately.
func isAlive(s cluster.Server, now time.Time) bool { return now.Sub(s.Seen) < cluster.MemberTTL }

func anyAlive(s cluster.State, now time.Time) bool {
	return slices.ContainsFunc(s.Servers, func(server cluster.Server) bool { return isAlive(server, now) })
}

// checkServers shows which servers are alive. A server that stopped without notice is listed for
// ten minutes.
func checkServers(s cluster.State, now time.Time) Finding {
	var alive int
	var silent []string
	for _, server := range s.Servers {
		if isAlive(server, now) {
			alive++
			continue
		}
		silent = append(silent, server.ID+" (last seen "+output.Text(server.Seen)+")")
	}
	f := Finding{"servers", statusOK, output.Count(int64(alive), "server") + " alive", ""}
	if len(silent) > 0 {
		f.status = statusWarn
		f.detail += "; no heartbeat from " + strings.Join(silent, ", ")
		f.advice = "check whether they crashed or can't reach the database; they are listed for ten minutes"
	}
	if alive == 0 {
		f.status, f.advice = statusWarn, "start a server: petstore serve"
	}
	return f
}

// checkTerm shows where limits are counted.
func checkTerm(s cluster.State, now time.Time) Finding {
	f := Finding{"limits", statusOK, "", ""}
	redis, alive := map[string]bool{}, 0
	var apart []string
	for _, server := range s.Servers {
		if isAlive(server, now) {
			alive++
			redis[strings.TrimPrefix(server.Redis, cluster.CutOff)] = true
			if server.Acked != s.Term.Number {
				apart = append(apart, server.ID)
			}
		}
	}
	term := fmt.Sprintf(" (term %d)", s.Term.Number)
	switch {
	case alive == 0:
		f.detail = "no server is alive"
	case !s.Active:
		f.status, f.detail = statusWarn, fmt.Sprintf("term %d is not active yet", s.Term.Number)
		f.advice = "check again: activation takes 1 s, or 5 s if a server is cut off"
	case len(apart) > 0:
		f.status, f.detail = statusWarn, "not in term "+fmt.Sprint(s.Term.Number)+": "+strings.Join(apart, ", ")
		f.advice = "check again, and the log of the server: a server joins a term within a second, and refuses " +
			"requests until then"
	case s.Term.Redis != "":
		f.detail = "counted in Redis" + term
	case s.Term.Sole != "":
		f.detail = "counted in memory by the only server" + term
	case len(redis) == 1 && redis[""]:
		f.status, f.detail = statusWarn, "counted in Postgres"+term+": no server can reach Redis"
		f.advice = "limits stay exact but cost more; check that Redis is running and PETSTORE_REDIS_URL is set on " +
			"every server"
	default:
		f.status, f.detail = statusWarn, "counted in Postgres"+term+": the servers do not use the same Redis"
		f.advice = "limits stay exact but cost more; if no upgrade is under way, check that PETSTORE_REDIS_URL is " +
			"the same on every server"
	}
	return f
}
