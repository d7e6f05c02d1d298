package store

// DB is the database, by what it keeps. It is safe for concurrent use.
type DB struct {
	*conn

	Tenants     Tenants
	Plans       Plans
	Keys        Keys
	Bans        Bans
	Pets        Pets
	Orders      Orders
	Idempotency Idempotency
	Usage       Usage
	Refusals    Refusals
	Audit       Audit
	Counters    Counters
	Cluster     Cluster
}

func newDB(c *conn) *DB {
	return &DB{
		conn: c, Tenants: Tenants{c}, Plans: Plans{c}, Keys: Keys{c}, Bans: Bans{c}, Pets: Pets{c}, Orders: Orders{c},
		Idempotency: Idempotency{c}, Usage: Usage{c}, Refusals: Refusals{c}, Audit: Audit{c}, Counters: Counters{c}, Cluster: Cluster{c},
	}
}
