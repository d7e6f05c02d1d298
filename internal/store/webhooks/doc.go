// Package webhooks stores the endpoints of tenants, the events that they are told of, and the
// deliveries that wait. Triggers of Postgres add events in the transaction of the change; no code
// of ours does.
//
// Mail is for those who send mails and for the owners of addresses, Outbox for those who deliver,
// Endpoints for the tenants themselves, Staff for support. The API's role has no right on the
// tables: functions of Postgres do each one thing. So two servers never have more than two requests
// in flight to an endpoint: each holds a row of endpoint_slots.
package webhooks

import (
	"petstore.example/internal/store/catalog"
	"petstore.example/internal/store/pgconn"
)

// Webhooks has all that is stored for webhooks.
type Webhooks struct {
	Outbox        Outbox
	Endpoints     Endpoints
	StaffWebhooks Staff
	Mail          Mail
}

// New returns the Webhooks of a database.
func New(db *pgconn.DB) Webhooks {
	return Webhooks{Outbox{db}, Endpoints{db, catalog.New(db).Idempotency}, Staff{db}, Mail{db}}
}
