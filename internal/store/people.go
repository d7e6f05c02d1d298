package store

import "petstore.example/internal/store/pgconn"

// People are the tenants with their keys and bans.
type People struct {
	db *pgconn.DB

	Tenants Tenants
	Keys    Keys
	Bans    Bans
}

// newPeople returns those of a database.
func newPeople(db *pgconn.DB) People { return People{db, Tenants{db}, Keys{db}, Bans{db}} }
