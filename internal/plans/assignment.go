package plans

import "time"

// Kind says why an assignment was made.
type Kind string

// The kinds of assignments.
const (
	// Assigned was made by staff.
	Assigned Kind = "assign"
	// Boost is the plan and generation of before it with other numbers, for a while.
	Boost Kind = "boost"
	// End follows a temporary assignment or a boost.
	End Kind = "end"
)

// Assignment puts a tenant on a plan from an instant on. It is in force until the tenant's next one
// begins, so a tenant's assignments have no gaps and no overlaps. An assignment that has begun is
// never changed, except that it may be marked void.
type Assignment struct {
	// ID is 0 before it is stored.
	ID   int64
	Plan string
	// Generation is which versions of the plan it follows; 0 for the plan's latest when it begins.
	Generation int
	// Own is the numbers of the assignment itself: of a plan without numbers, or of a boost; nil
	// for those of the plan. One number of a boost, or of its end, may be 0: it is the plan's.
	Own *Quota
	// Named is the numbers that a boost was given. 0 means that the number stays as before. Own
	// follows from Named. A new boost has its numbers in Own, and Named is empty.
	Named Quota
	// Kind is Assigned if it is empty.
	Kind Kind
	// Ends is the assignment that an End ends; 0, before they are stored, for the one before it.
	Ends int64
	From time.Time
	// Until is when a temporary assignment or a boost ends by itself, zero for one that lasts. Then
	// is the plan that follows, "" for what was in force before.
	Until time.Time
	Then  string
	// To is when the next one begins, zero for none.
	To        time.Time
	CreatedAt time.Time
	CreatedBy string
	// VoidedAt is zero for one that is not void.
	VoidedAt   time.Time
	VoidReason string
}

// Period is a time in which a tenant's plan and numbers do not change: what one assignment and one
// version of its plan have in common.
type Period struct {
	Assignment int64
	Version    int
	Generation int
	Plan       string
	Kind       Kind
	// Ends is the assignment that an End ends, 0 for others.
	Ends  int64
	Quota Quota
	From  time.Time
	// To is zero for no end.
	To time.Time
	// AssignedFrom and AssignedTo are those of the assignment.
	AssignedFrom, AssignedTo time.Time
	// VoidedAt is zero for an assignment that is not void.
	VoidedAt   time.Time
	VoidReason string
}
