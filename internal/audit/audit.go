package audit

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// System is the claimed actor of changes that the platform makes itself, such as automatic bans.
const System = "petstore"

// By says who makes a change, why, and whether it is a dry run.
type By struct {
	// Actor is the person or program, for example "jo@support-3". It is the caller's own claim.
	Actor  string
	Reason string
	// DryRun makes the change in a transaction that is rolled back. All checks are made.
	DryRun bool
	// Undoable, if not nil, gets the numbers of the written entries that can be taken back. They
	// are added when the change is committed, and never by a dry run.
	Undoable *Numbers
}

// Numbers are the numbers of entries, in the order of writing. Entries of one transaction have
// consecutive numbers.
type Numbers []int64

// String returns the numbers as ranges: "4711", "4711-4760" or, for several transactions,
// "4711-4760,4802".
func (n Numbers) String() string {
	var text strings.Builder
	for i := 0; i < len(n); i++ {
		first := n[i]
		for i+1 < len(n) && n[i+1] == n[i]+1 {
			i++
		}
		if text.Len() > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.FormatInt(first, 10))
		if n[i] > first {
			text.WriteString("-" + strconv.FormatInt(n[i], 10))
		}
	}
	return text.String()
}

// Entry is one change.
type Entry struct {
	// Number counts from 1, without gaps.
	Number int64
	// At, Login and Address are what Postgres saw. At is its own clock, to the microsecond. Login
	// is the role that logged in, empty for entries older than this member. Address is the client's
	// address, empty for a Unix socket.
	At             time.Time
	Login, Address string
	// ClaimedActor is the person who made the change, by their own account.
	ClaimedActor string
	// Action is noun.verb, for example "key.issue" or "plan.assign".
	Action string
	// TenantID is 0 if the change concerns no tenant. TenantName is not part of the entry: it is
	// looked up when the entry is read, and is empty for an erased tenant.
	TenantID   int64
	TenantName string
	// Subject is what was changed: TenantSubject, or the ID of a key such as
	// "key_9Xb2LmQ0tR7sVw1Z".
	Subject string
	// Before and After are the subject as JSON objects in the text form of jsonb, empty if it did
	// not exist. They contain no secret, no name and no text of a customer.
	Before, After json.RawMessage
	Reason        string
	// Prev is the Hash of the entry before, zeros for the first. Hash is the value of Sum when the
	// entry was written.
	Prev, Hash Hash
}

// Redacted returns the members that the change set, but whose values are not in the entry.
func (e *Entry) Redacted() []string {
	var after struct {
		Redacted []string `json:"redacted"`
	}
	if json.Unmarshal(e.After, &after) != nil {
		return nil
	}
	return after.Redacted
}

// InvitedBy is the login of the staff member who invited the person that made the change, "" for
// other changes.
func (e *Entry) InvitedBy() string {
	signIn, login, _ := strings.Cut(e.ClaimedActor, " invited by ")
	if !strings.HasPrefix(signIn, "sign-in:") {
		return ""
	}
	return login
}

// TenantSubject is the Subject of a change to a tenant.
func TenantSubject(id int64) string { return "tenant:" + strconv.FormatInt(id, 10) }
