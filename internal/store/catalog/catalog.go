package catalog

import (
	"context"

	"petstore.example/internal/store/pgconn"
)

// Catalog has the data that tenants store.
type Catalog struct {
	Pets        Pets
	Orders      Orders
	Idempotency Idempotency
	// Transactions are the transactions of all tenants.
	Transactions Transactions
}

// New returns the Catalog of a database.
func New(db *pgconn.DB) Catalog {
	return Catalog{Pets{db}, Orders{db}, Idempotency{db}, Transactions{db}}
}

// Transactions tells which transactions of the database are under way, including other programs'
// transactions. A commit that waits for a synchronous standby is under way.
type Transactions struct{ db *pgconn.DB }

// underWayQuery counts transactions from the first one on, modulo 2^32. age counts back from the
// next one, so a transaction whose age is above later comes before number $1 (if that is 0, any
// does). The query reads the locks only if there is such a transaction, because reading them takes
// locks itself. pg_locks has the locks of all databases, and tables of two databases may have the
// same OID.
const underWayQuery = `
select next, age(pg_snapshot_xmin(pg_current_snapshot())::xid) > later and exists (
  select from pg_locks writes join pg_locks number using (pid)
  where writes.relation in ('pets'::regclass, 'orders'::regclass) and writes.mode = 'RowExclusiveLock'
    and writes.database = (select oid from pg_database where datname = current_database())
    and number.locktype = 'transactionid' and number.mode = 'ExclusiveLock' and age(number.transactionid) > later
) as changing
from (select age('3'::xid)::bigint & 4294967295 as next) n,
  lateral (select case $1::bigint when 0 then 0 else (next - $1) & 4294967295 end as later) l`

// UnderWay implements freshness.Transactions.
func (d Transactions) UnderWay(ctx context.Context, since int64) (next int64, changing bool, err error) {
	defer pgconn.Wrap(&err, "transactions under way")
	var seen struct {
		Next     int64
		Changing bool
	}
	err = d.db.Get(ctx, &seen, underWayQuery, since)
	return seen.Next, seen.Changing, err
}
