package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store"
)

const (
	// skewWarn and skewFail are how far this machine's clock may be from the database's.
	skewWarn = time.Second
	skewFail = time.Minute
)

// examine makes all checks that can be made. Without a database to ask, the others are left out.
func (o *doctorOptions) examine(ctx context.Context) ([]finding, error) {
	found, err := o.findDatabase()
	if err != nil {
		return nil, err
	}
	db, err := o.database(ctx)
	if err != nil {
		if codeOf(err) == exitInterrupted {
			return nil, err
		}
		return []finding{unreachable(found, err)}, nil
	}
	before := o.now()
	c, err := db.Checkup(ctx)
	if err != nil {
		return []finding{unreachable(found, err)}, nil
	}
	after := o.now()
	findings := []finding{
		{"database", statusOK, "PostgreSQL " + c.Version + " answers, as " + found.from + " names it", ""},
		o.checkSchema(ctx, found), checkRole(c), checkClock(before, c.Now, after),
	}
	return append(findings, checkCluster(ctx, db, c.Now)...), nil
}

func checkCluster(ctx context.Context, db *store.DB, now time.Time) []finding {
	state, err := db.ClusterState(ctx)
	if err != nil {
		return []finding{{"servers", statusFail, "can't be read: " + err.Error(), "petstorectl migrate status"}}
	}
	return []finding{checkServers(state, now), checkTerm(state, now)}
}

func unreachable(found foundDatabase, err error) finding {
	advice := "is it running, and does " + found.from + " name it rightly?"
	if found.dev != nil {
		advice = `is "petstore dev" running?`
	}
	return finding{"database", statusFail, err.Error(), advice}
}

func (o *doctorOptions) checkSchema(ctx context.Context, found foundDatabase) finding {
	status, err := store.MigrateStatus(ctx, found.url)
	f := finding{check: "schema", status: statusFail}
	switch {
	case err != nil:
		f.detail, f.advice = err.Error(), "petstorectl migrate status"
	case status.Dirty:
		f.detail, f.advice = fmt.Sprintf("a migration was broken off at version %d", status.Version), "petstorectl migrate up says what to do"
	case status.Version > status.Latest:
		f.detail = fmt.Sprintf("version %d is newer than this program, which knows %d", status.Version, status.Latest)
		f.advice = "use the petstorectl of the release that migrated it"
	case len(status.Pending) > 0:
		f.detail = fmt.Sprintf("version %d of %d: servers of this release don't start", status.Version, status.Latest)
		f.advice = "petstorectl migrate up"
	default:
		f.status, f.detail = statusOK, fmt.Sprintf("version %d, the latest", status.Version)
	}
	return f
}

func checkRole(c store.Checkup) finding {
	switch {
	case !c.OwnsTables:
		return finding{
			"role", statusFail, "role " + c.Role + " does not own the tables", "name the database with the role that migrates it",
		}
	case !c.MayServe:
		return finding{
			"role", statusWarn, "role " + c.Role + " may not act as petstore_api, as a server of its would have to",
			"grant petstore_api to " + c.Role,
		}
	}
	return finding{"role", statusOK, "role " + c.Role + " owns the tables and may act as petstore_api", ""}
}

// checkClock compares the database's clock with this machine's, which was read before and after.
func checkClock(before, database, after time.Time) finding {
	var skew time.Duration
	switch {
	case database.Before(before):
		skew = before.Sub(database)
	case database.After(after):
		skew = database.Sub(after)
	}
	f := finding{"clock", statusOK, "this machine and the database agree", ""}
	if skew < skewWarn {
		return f
	}
	f.status, f.detail = statusWarn, fmt.Sprintf("this machine and the database are %v apart", skew.Round(100*time.Millisecond))
	f.advice = "set both clocks by NTP: windows, bans and expiries follow the servers' clocks"
	if skew >= skewFail {
		f.status = statusFail
	}
	return f
}

// checkServers tells who is alive. A server that ended silently is remembered for a day.
func checkServers(s cluster.State, now time.Time) finding {
	var alive int
	var silent []string
	for _, server := range s.Servers {
		if now.Sub(server.Seen) < cluster.MemberTTL {
			alive++
			continue
		}
		silent = append(silent, server.ID+" (last heard of "+plain(server.Seen)+")")
	}
	f := finding{"servers", statusOK, count(alive, "server") + " alive", ""}
	if len(silent) > 0 {
		f.status = statusWarn
		f.detail += "; ended without a word: " + strings.Join(silent, ", ")
		f.advice = "were they killed, or are they cut off from the database? They are forgotten a day later"
	}
	if alive == 0 {
		f.status, f.advice = statusWarn, "start one: petstore serve"
	}
	return f
}

// checkTerm tells what decides over limits.
func checkTerm(s cluster.State, now time.Time) finding {
	f := finding{"limits", statusOK, "", ""}
	redis, alive := map[string]bool{}, 0
	for _, server := range s.Servers {
		if now.Sub(server.Seen) < cluster.MemberTTL {
			alive++
			redis[server.Redis] = true
		}
	}
	term := fmt.Sprintf(" in term %d", s.Term.Number)
	switch {
	case alive == 0:
		f.detail = "nobody decides, as no server is alive"
	case !s.Active:
		f.status, f.detail = statusWarn, fmt.Sprintf("term %d is agreed on and has not begun", s.Term.Number)
		f.advice = "look again: it takes a second at most, and five when a server is cut off"
	case s.Term.Redis != "":
		f.detail = "Redis decides" + term
	case s.Term.Sole != "":
		f.detail = "the only server decides" + term
	case len(redis) == 1 && redis[""]:
		f.status, f.detail = statusWarn, "Postgres decides"+term+": no server sees a Redis"
		f.advice = "limits stay exact, at more cost. Is Redis running, and PETSTORE_REDIS_URL set on all servers?"
	default:
		f.status, f.detail = statusWarn, "Postgres decides"+term+": not all servers see the same Redis"
		f.advice = "limits stay exact, at more cost. Does PETSTORE_REDIS_URL name the same Redis on all servers?"
	}
	return f
}

// count is "1 server" or "2 servers".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
