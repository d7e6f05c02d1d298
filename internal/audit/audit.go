// Package audit holds the words in which the platform remembers who changed what, and why.
//
// Every change that staff or the platform itself makes to a tenant, key, plan or ban writes one Entry in the
// transaction of the change: either both are there or neither is. A change whose reason or actor holds an API key is
// refused: the trail is read by many and never forgets.
package audit

import (
	"encoding/json"
	"time"
)

// System is the actor of changes that the platform makes by itself, such as automatic bans.
const System = "petstore"

// By says who makes a change, why, and whether it is only tried.
type By struct {
	// Actor is the person or program, for example "jo@support-3".
	Actor  string
	Reason string
	// DryRun makes the change in a transaction that is rolled back: every check is made, nothing stays.
	DryRun bool
}

// Entry is one remembered change.
type Entry struct {
	ID    int64
	At    time.Time
	Actor string
	// Action is noun.verb, for example "key.issue" or "plan.assign".
	Action string
	// Tenant is the tenant's name, empty where the change concerns none.
	Tenant string
	// Subject is the name or id of what was changed, for example "key_9Xb2LmQ0tR7sVw1Z".
	Subject string
	// Before and After are the subject as JSON objects, null where there was none. They never hold a secret.
	Before, After json.RawMessage
	Reason        string
}
