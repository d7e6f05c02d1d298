package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/fairqueue"
	"petstore.example/internal/store"
)

const (
	// tenantSlots leaves connections for recording. One tenant can use ten of the slots; four are
	// left for others.
	tenantSlots, slotsPerTenant = 14, 10
	// readPlaces is how many reads of its keys and requests, changes of its keys, and account pages
	// a tenant may have under way.
	readPlaces = 2
)

// newTenantStore returns the stores of tenants' data. The tenants share its connections fairly.
func newTenantStore(db *store.DB, r prometheus.Registerer) *fairqueue.Store {
	s := fairqueue.New(
		fairqueue.Stores{
			Pets:     db.Pets,
			Orders:   db.Orders,
			Requests: db.Idempotency,
			Usage:    db.Usage,
			Keys:     db.CustomerKeys,
			Failed:   db.FailedRequests,
		},
		fairqueue.Options{Slots: tenantSlots, PerTenant: slotsPerTenant, Timeout: callTimeout, Places: readPlaces,
			Mark: store.Unsampled},
	)
	values{
		r,
	}.gauge(
		"petstore_tenant_calls_waiting",
		"Number of requests that wait for their turn to use a connection to Postgres.",
		nil,
		func() float64 { return float64(s.Waiting()) },
	)
	return s
}
