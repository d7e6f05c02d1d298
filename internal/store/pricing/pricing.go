package pricing

import "petstore.example/internal/store/pgconn"

// Pricing has the plans, and which tenant has which plan at which time.
type Pricing struct {
	Plans     Plans
	PriceList PriceList
	Timelines Timelines
}

// New returns the Pricing of a database.
func New(db *pgconn.DB) Pricing { return Pricing{Plans{db}, PriceList{db}, Timelines{db}} }
