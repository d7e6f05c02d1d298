// Package audit defines the entries of the audit trail: who changed what, and why.
//
// Every change of a tenant, key, plan or ban by staff or by the platform itself writes one Entry in its
// transaction. A change whose reason or actor contains an API key is refused, because many people read the
// trail and it is never deleted.
package audit

import (
	"encoding/json"
	"time"
)

// System is the actor of changes that the platform makes itself, such as automatic bans.
const System = "petstore"

// By says who makes a change, why, and whether it is a dry run.
type By struct {
	// Actor is the person or program, for example "jo@support-3".
	Actor  string
	Reason string
	// DryRun makes the change in a transaction that is rolled back. All checks are made.
	DryRun bool
}

// Entry is one change.
type Entry struct {
	ID    int64
	At    time.Time
	Actor string
	// Action is noun.verb, for example "key.issue" or "plan.assign".
	Action string
	// Tenant is the name of the tenant, empty if the change concerns none.
	Tenant string
	// Subject is the name or ID of what was changed, for example "key_9Xb2LmQ0tR7sVw1Z".
	Subject string
	// Before and After are the subject as JSON objects, null if it did not exist. They contain no secret.
	Before, After json.RawMessage
	Reason        string
}
