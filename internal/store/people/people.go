package people

import (
	"petstore.example/internal/store/catalogue"
	"petstore.example/internal/store/pgconn"
)

// People are the tenants with their keys and bans.
type People struct {
	db *pgconn.DB

	Tenants Tenants
	Keys    Keys
	Bans    Bans
	OwnKeys OwnKeys
	SignIns SignIns
}

// New returns those of a database.
func New(db *pgconn.DB) People {
	return People{db, Tenants{db}, Keys{db}, Bans{db}, OwnKeys{db, catalogue.New(db).Idempotency}, SignIns{db}}
}
