package catalogue

import (
	"context"

	"petstore.example/internal/store/pgconn"
)

// Catalogue is what tenants store.
type Catalogue struct {
	Pets        Pets
	Orders      Orders
	Idempotency Idempotency
	// Transactions are those of all tenants.
	Transactions Transactions
}

// New returns that of a database.
func New(db *pgconn.DB) Catalogue {
	return Catalogue{Pets{db}, Orders{db}, Idempotency{db}, Transactions{db}}
}

// Transactions tells which transactions of the database are under way, whoever made them. A commit that waits for a
// synchronous standby is.
type Transactions struct{ db *pgconn.DB }

// underWayQuery counts numbers from the first on, modulo 2^32, as age does back from the next one.
// It looks at the locks only if a transaction is old: to read them takes locks itself. Those of all
// databases of the server are there, and tables of two databases may have one OID.
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
