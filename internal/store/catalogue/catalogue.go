package catalogue

import "petstore.example/internal/store/pgconn"

// Catalogue is what tenants store.
type Catalogue struct {
	Pets        Pets
	Orders      Orders
	Idempotency Idempotency
	// Transactions are those of the whole server.
	Transactions Transactions
}

// New returns that of a database.
func New(db *pgconn.DB) Catalogue {
	return Catalogue{Pets{db}, Orders{db}, Idempotency{db}, Transactions{db}}
}
