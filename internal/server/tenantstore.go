package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/fairqueue"
	"petstore.example/internal/store"
)

const (
	// databaseConns is the size of the connection pool of requests and of what is recorded, and
	// callTimeout bounds each call.
	databaseConns = 16
	callTimeout   = 1100 * time.Millisecond
	// tenantSlots leaves connections for what is recorded. A tenant can use ten, and leaves four to
	// others.
	tenantSlots, slotsPerTenant = 14, 10
	// readPlaces is how many of its keys, requests and pages a tenant reads or changes at the same
	// time.
	readPlaces = 2
)

// newTenantStore returns the stores of tenants' data, whose connections tenants share fairly.
func newTenantStore(db *store.DB, r prometheus.Registerer) *fairqueue.Store {
	s := fairqueue.New(
		fairqueue.Stores{
			Pets:     db.Pets,
			Orders:   db.Orders,
			Requests: db.Idempotency,
			Usage:    db.Usage,
			Keys:     db.OwnKeys,
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
