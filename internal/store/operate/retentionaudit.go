package operate

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
)

// ErrAuditBusy: others read or write the audit trail for longer than a moment, so nothing of it can be removed.
var ErrAuditBusy = errors.New("others read or write them, such as audit list or pg_dump: try again when they have ended")

// CutAudit begins a partition of the audit trail in a new year, and reports whether it did.
func (d Retention) CutAudit(ctx context.Context) (cut bool, err error) {
	defer pgconn.Wrap(&err, "cut the audit trail")
	err = d.db.Get(ctx, &cut, `select cut_audit_trail()`)
	return cut, err
}

// RemovedAudit says which entries of the audit trail were removed.
type RemovedAudit struct {
	// Entries is how many; 0 if none was old enough.
	Entries int64
	// Begin is the last of them, from which the trail goes on.
	Begin audit.Checkpoint
	// At is when that was written.
	At time.Time
}

// removedAuditRecord is what the entry audit.remove holds.
type removedAuditRecord struct {
	audit.Removed

	Entries int64     `json:"entries"`
	At      time.Time `json:"at"`
}

// RemoveAudit removes the partitions of the audit trail whose last entry is older than entries are kept. Only the owner of the tables may.
// The trail goes on from the last entry that was removed: a new entry says which that is. It returns ErrAuditBusy while somebody reads the
// trail for longer than a moment.
func (d Retention) RemoveAudit(ctx context.Context, by audit.By) (done RemovedAudit, err error) {
	defer pgconn.Wrap(&err, "remove old entries of the audit trail")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		done = RemovedAudit{}
		var ends []time.Time
		err := tx.Select(ctx, &ends, `
			select e.at from audit_partitions p join audit_entries e on e.number = p.last
			where e.at < retention_before('audit') order by p.last`)
		if err != nil {
			return err
		}
		err = tx.Get(ctx, &done.Entries, `select remove_audit_entries()`)
		if pq.As(err, pqerror.LockNotAvailable) != nil {
			return ErrAuditBusy
		}
		if err != nil || done.Entries == 0 {
			return err
		}
		begin, err := trail.BeginningOf(ctx, tx)
		if err != nil {
			return err
		}
		done.Begin, done.At = begin, ends[len(ends)-1].UTC()
		return trail.Write(tx, by, trail.Entry{Action: audit.ActionRemove, Subject: "audit", After: removedAuditRecord{
			audit.Removed{Number: begin.Number, Hash: hex.EncodeToString(begin.Hash[:])}, done.Entries, done.At,
		}})
	})
	return done, err
}
