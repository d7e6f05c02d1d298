package plans

import "time"

// Kind says why an assignment was made.
type Kind string

// The kinds of assignments.
const (
	// Assigned: staff put the tenant on a plan.
	Assigned Kind = "assign"
	// Boost keeps the tenant's plan and generation, and changes its numbers for a while.
	Boost Kind = "boost"
	// End follows a temporary assignment or a boost.
	End Kind = "end"
)

// Assignment puts a tenant on a plan from an instant on. It is in force until the tenant's next one
// begins, so a tenant's assignments have no gaps and no overlaps. Once it has begun, it is never
// changed, except that it may be marked void.
type Assignment struct {
	// ID is 0 before it is stored.
	ID   int64
	Plan string
	// Generation selects the versions of the plan that it follows; 0 stands for the plan's latest
	// generation when it begins.
	Generation int
	// Own is the assignment's own numbers, for a plan without numbers or a boost; nil means the
	// plan's numbers. One number of a boost, or of its end, may be 0: then the plan's number holds.
	Own *Quota
	// Named is the numbers that a boost was given; 0 keeps the number in force before. Own is
	// derived from Named. A new boost has its numbers in Own instead, and Named is empty.
	Named Quota
	// Kind is the kind; empty means Assigned.
	Kind Kind
	// Ends is the ID of the assignment that an End ends. Before the two are stored, 0 stands for
	// the assignment before the End.
	Ends int64
	From time.Time
	// Until is when a temporary assignment or a boost ends by itself, zero for never. Then is the
	// plan that follows, "" for what was in force before.
	Until time.Time
	Then  string
	// To is when the next assignment begins, zero for none.
	To        time.Time
	CreatedAt time.Time
	CreatedBy string
	// VoidedAt is zero unless the assignment is void.
	VoidedAt   time.Time
	VoidReason string
}

// Period is a time in which a tenant's plan and numbers do not change: the common part of one
// assignment and one version of its plan.
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
	// AssignedFrom and AssignedTo are the beginning and the end of the assignment.
	AssignedFrom, AssignedTo time.Time
	// VoidedAt is zero unless the assignment is void.
	VoidedAt   time.Time
	VoidReason string
}
