package store

import (
	"context"
	"database/sql/driver"
	"errors"
)

// maxBroken is how many connections that broke while they were idle a statement passes over: more than any pool has.
const maxBroken = 64

// direct runs one hot statement in its own transaction, in one round trip, and never a second time: database/sql would repeat a
// statement outside of a transaction when the reply is lost, which may have taken effect. It repeats what goes through its own methods;
// a driver's connection that it lends (sql.Conn.Raw) it leaves alone. So a connection is looked at before the statement is
// sent, and one that ended while it was idle is passed over; what breaks later is an error, and nobody knows what came of the
// statement.
//
// A statement that waits, for a lock perhaps, is ended by Postgres (statement_timeout): without a transaction around it, it could
// otherwise take effect long after it was given up here.
func (d *conn) direct(ctx context.Context, query string, args []driver.NamedValue, collect func(row []driver.Value) error) error {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	for tries := 1; ; tries++ {
		conn, err := d.db.Conn(ctx)
		if err != nil {
			return translateIn(ctx, err)
		}
		err = conn.Raw(func(lent any) error { return lent.(*session).run(query, args, collect) })
		_ = conn.Close() // It goes back to the pool, or to its end when it broke.
		if tries == maxBroken || !errors.Is(err, errNotSent) {
			return translateIn(ctx, err)
		}
	}
}

// values numbers the arguments of a statement.
func values(all ...driver.Value) []driver.NamedValue {
	named := make([]driver.NamedValue, len(all))
	for i, v := range all {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return named
}
