package counters

import (
	"database/sql"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/cluster"
)

// clusterRow is a cluster_state. All of it is null if there is none.
type clusterRow struct {
	Number       sql.NullInt64
	Active       sql.NullBool
	Redis        sql.NullString
	Sole         sql.NullString
	UncleanUntil sql.NullTime `db:"unclean_until"`
	Servers      sql.NullInt64
	First        sql.NullBool
	SetBack      sql.NullInt64 `db:"set_back"`
	NotBefore    sql.NullTime  `db:"not_before"`
	FoldedUntil  sql.NullTime  `db:"folded_until"`
	Origin       sql.NullString
	Database     sql.NullString
	Now          sql.NullTime
	IDs          pq.StringArray
	Seen         pq.Int64Array
	Reached      pq.StringArray
	Acked        pq.Int64Array
	Leases       pq.Int64Array
}

// renewedRow is the result of renew_server: was is the server's own row before, if there was one.
type renewedRow struct {
	clusterRow
	Renewed    bool
	WasID      sql.NullString `db:"was_id"`
	WasSeen    sql.NullInt64  `db:"was_seen"`
	WasReached sql.NullString `db:"was_reached"`
	WasAcked   sql.NullInt64  `db:"was_acked"`
	WasLease   sql.NullInt64  `db:"was_lease"`
}

// lockedRow is the result of lock_cluster.
type lockedRow struct {
	clusterRow
	Locked pq.StringArray
}

func (r *clusterRow) state() cluster.State {
	s := cluster.State{
		Term: cluster.Term{
			Number: r.Number.Int64, First: r.First.Bool, Redis: r.Redis.String, Sole: r.Sole.String,
			UncleanUntil: instant(r.UncleanUntil), Servers: int(r.Servers.Int64), SetBack: r.SetBack.Int64,
		},
		Active: r.Active.Bool, NotBefore: instant(r.NotBefore), Folded: instant(r.FoldedUntil),
		Database: r.Database.String, Origin: r.Origin.String, Now: instant(r.Now),
	}
	if len(r.IDs) > 0 {
		s.Servers = make([]cluster.Server, len(r.IDs))
	}
	for i, id := range r.IDs {
		s.Servers[i] = server(id, r.Seen[i], r.Reached[i], r.Acked[i], r.Leases[i])
	}
	return s
}

// before returns the state with the server's own row as it was before its heartbeat.
func (r *renewedRow) before(serverID string) cluster.State {
	if !r.WasID.Valid {
		return r.state().Without(serverID)
	}
	return r.state().With(server(serverID, r.WasSeen.Int64, r.WasReached.String, r.WasAcked.Int64, r.WasLease.Int64))
}

func server(id string, seen int64, redis string, acked, lease int64) cluster.Server {
	return cluster.Server{
		ID: id, Seen: time.UnixMicro(seen).UTC(), Redis: redis, Acked: acked, Lease: time.Duration(lease) * time.Millisecond,
	}
}

// instant returns the zero Time for null.
func instant(t sql.NullTime) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}

func nullTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t, Valid: !t.IsZero()} }

// serverRows are rows of servers, column by column, and when each was last seen when it was read, null for one that was not there.
type serverRows struct {
	ids, redises        []string
	seen, acked, leases []int64
	was                 []sql.NullInt64
}

func (r *serverRows) add(e cluster.Server, was *cluster.Server) {
	r.ids, r.redises = append(r.ids, e.ID), append(r.redises, e.Redis)
	r.seen, r.acked, r.leases = append(r.seen, e.Seen.UnixMicro()), append(r.acked, e.Acked), append(r.leases, e.Lease.Milliseconds())
	var seen sql.NullInt64
	if was != nil {
		seen = sql.NullInt64{Int64: was.Seen.UnixMicro(), Valid: true}
	}
	r.was = append(r.was, seen)
}
