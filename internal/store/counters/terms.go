package counters

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store/pgconn"
)

// Channel is the channel on which Postgres announces each new term.
const Channel = "petstore_cluster"

// Terms stores the live servers and the term that they share.
//
// A renewal is one statement, renew_server: it writes the server's own row and then reads the
// cluster, and locks nothing else. If cluster.Next changes more than that row, a transaction locks
// the term, reads again, applies Next and saves. What could go wrong:
//
//   - Server A renews while server B takes it for silent, and activates a term without waiting for
//     it. B locks A's row before it reads the servers. If A's renewal holds the row, B skips it,
//     and treats A as just seen. If B holds the row, the renewal waits, and then reads the new term
//     with a new snapshot.
//   - A server joins while another activates a term. A join holds the term's lock, shared with
//     other joins, so one of the two reads what the other has written.
//   - Two servers change the term. The second finds the lock taken. It does not wait, and renews
//     again soon (cluster.State.Busy). By then the first has either seen the second's heartbeat or
//     left the change to it.
//   - A crash of Postgres loses renewals: cluster.fenceTimeout allows for that. It loses no term,
//     and no acknowledgement that made one active, because a commit that is on disk takes those
//     before it with it.
//   - A promotion or a restore loses more: see cluster.isSetBack.
type Terms struct{ db *pgconn.DB }

var _ cluster.Store = Terms{}

// NewTerms returns the terms that the database holds.
func NewTerms(db *pgconn.DB) Terms { return Terms{db} }

const (
	clusterColumns = `
  (r.cluster).number, (r.cluster).active, (r.cluster).redis, (r.cluster).sole, (r.cluster).unclean_until,
    (r.cluster).servers,
  (r.cluster).first, (r.cluster).set_back, (r.cluster).not_before, (r.cluster).origin, (r.cluster).database,
    (r.cluster).now,
  (r.cluster).ids, (r.cluster).seen, (r.cluster).reached, (r.cluster).acked, (r.cluster).leases,
  (r.cluster).months, (r.cluster).know_months`

	renewServerQuery = `
select ` + clusterColumns + `, r.renewed, (r.was).id as was_id, (extract(epoch from (r.was).seen_at) *
  1000000)::bigint as was_seen,
  (r.was).redis as was_reached, (r.was).acked as was_acked, (r.was).lease as was_lease,
  (r.was).months as was_months
from renew_server($1, $2, $3, $4, $5, true) r`

	lockClusterQuery = `select ` + clusterColumns + `, r.locked from lock_cluster($1) r`

	readClusterQuery = `select ` + clusterColumns + ` from (select read_cluster() as cluster offset 0) r`

	// forgetServersQuery removes servers that have sent no heartbeat since they were read.
	forgetServersQuery = `
delete from servers s using unnest($1::text[], $2::bigint[]) n (id, seen)
where s.id = n.id and s.seen_at = timestamptz 'epoch' + n.seen * interval '1 microsecond'`

	// changeServersQuery changes servers that have sent no heartbeat since they were read, and adds
	// others.
	changeServersQuery = `
with n as (
  select id, timestamptz 'epoch' + seen * interval '1 microsecond' as seen_at, redis, acked, lease, timestamptz
      'epoch' + was * interval '1 microsecond' as was
  from unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) n (id, seen, redis,
      acked, lease, was)
), changed as (
  update servers s set seen_at = n.seen_at, redis = n.redis, acked = n.acked, lease = n.lease
  from n where s.id = n.id and s.seen_at = n.was
)
insert into servers (id, seen_at, redis, acked, lease, months)
select id, seen_at, redis, acked, lease, true from n where was is null order by id on conflict do nothing`

	leaveQuery = `delete from servers where id = $1`

	saveTermQuery = `
update cluster_term set number = $1, active = $2, redis = $3, sole = $4, unclean_until = $5, servers = $6, first = $7,
	set_back = $8,
  not_before = $9, origin = $10, months = not $11
returning pg_notify('` + Channel + `', number::text)`
)

// Renew implements cluster.Store. Its clock is Postgres's, read after the heartbeat is written.
func (t Terms) Renew(ctx context.Context, hb cluster.Heartbeat) (cluster.State, error) {
	var r renewedRow
	err := t.db.Get(
		ctx,
		&r,
		renewServerQuery,
		hb.ServerID,
		hb.Redis,
		hb.Acked,
		max(hb.Lease, cluster.Lease).Milliseconds(),
		hb.Sequence,
	)
	if err != nil {
		return cluster.State{}, fmt.Errorf("renew server: %w", err)
	}
	before := r.before(hb.ServerID)
	next := cluster.Next(before, hb, before.Now)
	if r.Renewed && !cluster.Changed(before, next, hb.ServerID) {
		return next, nil
	}
	next, err = t.change(ctx, &hb, before, r.Renewed)
	if err != nil {
		return cluster.State{}, fmt.Errorf("change the term: %w", err)
	}
	return next, nil
}

// change applies Next under the lock of the term. before is the state before the heartbeat. If the
// heartbeat was not written yet, change waits for the lock and writes it.
func (t Terms) change(
	ctx context.Context,
	hb *cluster.Heartbeat,
	before cluster.State,
	renewed bool,
) (next cluster.State, err error) {
	err = t.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		var l lockedRow
		if err := tx.Get(ctx, &l, lockClusterQuery, !renewed); err != nil {
			return fmt.Errorf("lock the term: %w", err)
		}
		slices.Sort(l.Locked)
		if !l.Number.Valid {
			next = before.With(
				cluster.Server{ID: hb.ServerID, Seen: before.Now, Redis: hb.Redis, Acked: hb.Acked, Lease: hb.Lease},
			)
			next.Busy = true
			return nil
		}
		now, skipped := l.state(), false
		for i, e := range now.Servers {
			if _, locked := slices.BinarySearch(l.Locked, e.ID); e.ID != hb.ServerID && e.Fenced(now.Now) && !locked {
				now.Servers[i].Seen, skipped = now.Now, true // The server is renewing its lease.
			}
		}
		if own, ok := before.Server(hb.ServerID); !ok {
			now = now.Without(hb.ServerID)
		} else {
			now = now.With(own) // The server's row as it was before this heartbeat.
		}
		next = cluster.Next(now, *hb, now.Now)
		next.Busy = skipped
		return saveCluster(ctx, tx, now, next, hb.ServerID, renewed)
	})
	return next, err
}

// Leave implements cluster.Store.
func (t Terms) Leave(ctx context.Context, serverID string) error {
	if _, err := t.db.Exec(ctx, leaveQuery, serverID); err != nil {
		return fmt.Errorf("forget server: %w", err)
	}
	return nil
}

// State reads the term, and the servers with the time of each one's last renewal.
func (t Terms) State(ctx context.Context) (cluster.State, error) {
	var r clusterRow
	if err := t.db.Get(ctx, &r, readClusterQuery); err != nil {
		return cluster.State{}, fmt.Errorf("read the term: %w", err)
	}
	return r.state(), nil
}

// saveCluster writes what has changed. If renewed is set, the sender's own row is already written.
func saveCluster(ctx context.Context, tx pgconn.Tx, before, next cluster.State, sender string, renewed bool) error {
	var gone, changed serverRows
	for _, e := range before.Servers {
		if _, stays := next.Server(e.ID); !stays {
			gone.add(e, &e)
		}
	}
	for _, e := range next.Servers {
		was, ok := before.Server(e.ID)
		switch {
		case e.ID == sender && renewed, ok && was == e:
		case ok:
			changed.add(e, &was)
		default:
			changed.add(e, nil)
		}
	}
	if len(gone.ids) > 0 {
		if _, err := tx.Exec(ctx, forgetServersQuery, pq.Array(gone.ids), pq.Array(gone.seen)); err != nil {
			return fmt.Errorf("forget servers: %w", err)
		}
	}
	if c := &changed; len(c.ids) > 0 {
		_, err := tx.Exec(
			ctx,
			changeServersQuery,
			pq.Array(c.ids),
			pq.Array(c.seen),
			pq.Array(c.redises),
			pq.Array(c.acked),
			pq.Array(c.leases),
			pq.Array(c.was),
		)
		if err != nil {
			return fmt.Errorf("change servers: %w", err)
		}
	}
	if !cluster.Changed(withoutServers(before), withoutServers(next), sender) {
		return nil
	}
	n := next.Term
	_, err := tx.Exec(
		ctx,
		saveTermQuery,
		n.Number,
		next.Active,
		n.Redis,
		n.Sole,
		pgconn.NullTime(n.SilentUntil),
		n.Servers,
		n.First,
		n.SetBack,
		pgconn.NullTime(next.NotBefore),
		next.Origin,
		n.NoMonths,
	)
	if err != nil {
		return fmt.Errorf("save term: %w", err)
	}
	return nil
}

func withoutServers(s cluster.State) cluster.State {
	s.Servers = nil
	return s
}

// clusterRow is a row of cluster_state. All of it is null if there is none.
type clusterRow struct {
	Number      sql.NullInt64
	Active      sql.NullBool
	Redis       sql.NullString
	Sole        sql.NullString
	SilentUntil sql.NullTime `db:"unclean_until"`
	Servers     sql.NullInt64
	First       sql.NullBool
	SetBack     sql.NullInt64 `db:"set_back"`
	NotBefore   sql.NullTime  `db:"not_before"`
	Origin      sql.NullString
	Database    sql.NullString
	Now         sql.NullTime
	IDs         pq.StringArray
	Seen        pq.Int64Array
	Reached     pq.StringArray
	Acked       pq.Int64Array
	Leases      pq.Int64Array
	Months      sql.NullBool
	KnowMonths  pq.BoolArray `db:"know_months"`
}

// renewedRow is the result of renew_server. was is the server's own row before, if there was one.
type renewedRow struct {
	clusterRow
	Renewed    bool
	WasID      sql.NullString `db:"was_id"`
	WasSeen    sql.NullInt64  `db:"was_seen"`
	WasReached sql.NullString `db:"was_reached"`
	WasAcked   sql.NullInt64  `db:"was_acked"`
	WasLease   sql.NullInt64  `db:"was_lease"`
	WasMonths  sql.NullBool   `db:"was_months"`
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
			SilentUntil: pgconn.TimeOf(r.SilentUntil), Servers: int(r.Servers.Int64), SetBack: r.SetBack.Int64,
			NoMonths: r.Number.Int64 > 0 && !r.Months.Bool,
		},
		Active: r.Active.Bool, NotBefore: pgconn.TimeOf(r.NotBefore),
		Database: r.Database.String, Origin: r.Origin.String, Now: pgconn.TimeOf(r.Now),
	}
	if len(r.IDs) > 0 {
		s.Servers = make([]cluster.Server, len(r.IDs))
	}
	for i, id := range r.IDs {
		s.Servers[i] = server(id, r.Seen[i], r.Reached[i], r.Acked[i], r.Leases[i], r.KnowMonths[i])
	}
	return s
}

// before returns the state with the server's own row as it was before its heartbeat.
func (r *renewedRow) before(serverID string) cluster.State {
	if !r.WasID.Valid {
		return r.state().Without(serverID)
	}
	return r.state().With(server(serverID, r.WasSeen.Int64, r.WasReached.String, r.WasAcked.Int64, r.WasLease.Int64,
		r.WasMonths.Bool))
}

func server(id string, seen int64, redis string, acked, lease int64, months bool) cluster.Server {
	return cluster.Server{
		ID:    id,
		Seen:  time.UnixMicro(seen).UTC(),
		Redis: redis,
		Acked: acked,
		Lease: time.Duration(lease) * time.Millisecond,

		NoMonths: !months,
	}
}

// serverRows are rows of servers, column by column. Each has the last heartbeat as it was read,
// null for a new server.
type serverRows struct {
	ids, redises        []string
	seen, acked, leases []int64
	was                 []sql.NullInt64
}

func (r *serverRows) add(e cluster.Server, was *cluster.Server) {
	r.ids, r.redises = append(r.ids, e.ID), append(r.redises, e.Redis)
	r.seen, r.acked, r.leases = append(
		r.seen,
		e.Seen.UnixMicro(),
	), append(
		r.acked,
		e.Acked,
	), append(
		r.leases,
		e.Lease.Milliseconds(),
	)
	var seen sql.NullInt64
	if was != nil {
		seen = sql.NullInt64{Int64: was.Seen.UnixMicro(), Valid: true}
	}
	r.was = append(r.was, seen)
}
