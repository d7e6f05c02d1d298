package counters

import (
	"context"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store/pgconn"
)

// Channel is on which Postgres announces each new term.
const Channel = "petstore_cluster"

// Terms stores the servers that are alive and the term that they share.
//
// A renewal is one statement, renew_server: it writes the server's own row and then reads the cluster, and locks nothing else. Only if
// cluster.Next says that more is to change, a transaction locks the term, reads again, applies Next and saves. What could go wrong:
//
//   - A server renews while another activates a term without waiting for it, because it seems to be silent. The other one locks the silent
//     server's row before it reads the servers. If the renewal has the row, the other one skips it, and takes the server for one that was
//     just seen. If the other one has it, the renewal waits, and then reads the term with a new snapshot: it finds the new one.
//   - A server joins while another activates a term. A join holds the term's lock, shared with other joins, so one of the two reads what the
//     other has written.
//   - Two servers change the term. The second finds the lock taken; it does not wait, and renews again soon (cluster.State.Busy). By then
//     the first has either seen its heartbeat or left the change to it.
//   - A crash of Postgres loses renewals: cluster.fenceTimeout allows for that. It loses no term, and no acknowledgement that made one
//     active, because a commit that is on disk takes those before it with it.
//   - A promotion or a restore loses more: see cluster.isSetBack. renew_server writes no heartbeat into a row that is older than its server
//     knows, so that Next still sees it when it has the lock.
type Terms struct{ db *pgconn.DB }

var _ cluster.Store = Terms{}

// NewTerms returns the terms that the database holds.
func NewTerms(db *pgconn.DB) Terms { return Terms{db} }

const (
	renewServerQuery = `
select (r.cluster).*, r.renewed, (r.was).id as was_id, (extract(epoch from (r.was).seen_at) * 1000000)::bigint as was_seen,
  (r.was).redis as was_reached, (r.was).acked as was_acked, (r.was).lease as was_lease
from renew_server($1, $2, $3, $4, $5, $6) r`

	lockClusterQuery = `select (l.cluster).*, l.locked from lock_cluster($1) l`

	readClusterQuery = `select * from read_cluster()`

	// forgetServersQuery removes servers that have sent no heartbeat since they were read.
	forgetServersQuery = `
delete from servers s using unnest($1::text[], $2::bigint[]) n (id, seen)
where s.id = n.id and s.seen_at = timestamptz 'epoch' + n.seen * interval '1 microsecond'`

	// changeServersQuery changes servers that have sent no heartbeat since they were read, and adds others.
	changeServersQuery = `
with n as (
  select id, timestamptz 'epoch' + seen * interval '1 microsecond' as seen_at, redis, acked, lease, timestamptz 'epoch' + was * interval '1 microsecond' as was
  from unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) n (id, seen, redis, acked, lease, was)
), changed as (
  update servers s set seen_at = n.seen_at, redis = n.redis, acked = n.acked, lease = n.lease
  from n where s.id = n.id and s.seen_at = n.was
)
insert into servers (id, seen_at, redis, acked, lease)
select id, seen_at, redis, acked, lease from n where was is null order by id on conflict do nothing`

	leaveQuery = `delete from servers where id = $1`

	saveTermQuery = `
update cluster_term set number = $1, active = $2, redis = $3, sole = $4, unclean_until = $5, servers = $6, first = $7, set_back = $8,
  not_before = $9, folded_until = $10, origin = $11
returning pg_notify('` + Channel + `', number::text)`
)

// Renew implements cluster.Store. Its clock is that of Postgres, read after the heartbeat is written.
func (t Terms) Renew(ctx context.Context, hb cluster.Heartbeat) (cluster.State, error) {
	var r renewedRow
	err := t.db.Get(ctx, &r, renewServerQuery, hb.ServerID, hb.Redis, hb.Acked, max(hb.Lease, cluster.Lease).Milliseconds(), hb.Sequence,
		nullTime(hb.LeastSeen()))
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

// change applies Next under the lock of the term. before is the state before the heartbeat. If the heartbeat was not written it waits for
// the lock, and writes it.
func (t Terms) change(ctx context.Context, hb *cluster.Heartbeat, before cluster.State, renewed bool) (next cluster.State, err error) {
	err = t.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		var l lockedRow
		if err := tx.Get(ctx, &l, lockClusterQuery, !renewed); err != nil {
			return fmt.Errorf("lock the term: %w", err)
		}
		slices.Sort(l.Locked)
		if !l.Number.Valid {
			next = before.With(cluster.Server{ID: hb.ServerID, Seen: before.Now, Redis: hb.Redis, Acked: hb.Acked, Lease: hb.Lease})
			next.Busy = true
			return nil
		}
		now, skipped := l.state(), false
		for i, e := range now.Servers {
			if _, locked := slices.BinarySearch(l.Locked, e.ID); e.ID != hb.ServerID && e.Fenced(now.Now) && !locked {
				now.Servers[i].Seen, skipped = now.Now, true // It is renewing.
			}
		}
		if own, ok := before.Server(hb.ServerID); !ok {
			now = now.Without(hb.ServerID)
		} else {
			now = now.With(own) // As it was before this heartbeat.
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

// State reads the term, and the servers with when each last renewed its lease.
func (t Terms) State(ctx context.Context) (cluster.State, error) {
	var r clusterRow
	if err := t.db.Get(ctx, &r, readClusterQuery); err != nil {
		return cluster.State{}, fmt.Errorf("read the term: %w", err)
	}
	return r.state(), nil
}

// saveCluster writes what has changed. The sender's own row was written before if renewed is set.
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
		_, err := tx.Exec(ctx, changeServersQuery, pq.Array(c.ids), pq.Array(c.seen), pq.Array(c.redises), pq.Array(c.acked), pq.Array(c.leases), pq.Array(c.was))
		if err != nil {
			return fmt.Errorf("change servers: %w", err)
		}
	}
	if !cluster.Changed(withoutServers(before), withoutServers(next), sender) {
		return nil
	}
	n := next.Term
	_, err := tx.Exec(ctx, saveTermQuery, n.Number, next.Active, n.Redis, n.Sole, nullTime(n.UncleanUntil), n.Servers, n.First, n.SetBack,
		nullTime(next.NotBefore), nullTime(next.Folded), next.Origin)
	if err != nil {
		return fmt.Errorf("save term: %w", err)
	}
	return nil
}

func withoutServers(s cluster.State) cluster.State {
	s.Servers = nil
	return s
}
