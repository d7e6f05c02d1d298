package tenancy

import (
	"petstore.example/internal/store/catalog"
	"petstore.example/internal/store/pgconn"
)

// Tenancy has the tenants with their keys and bans.
type Tenancy struct {
	db *pgconn.DB

	Tenants      Tenants
	Keys         Keys
	Bans         Bans
	CustomerKeys CustomerKeys
	SignIns      SignIns
}

// New returns the Tenancy of a database.
func New(db *pgconn.DB) Tenancy {
	return Tenancy{db, Tenants{db}, Keys{db}, Bans{db}, CustomerKeys{db, catalog.New(db).Idempotency}, SignIns{db}}
}
