// Package plans defines plans, their quotas, and tenants. Package limits enforces quotas. A changed
// plan reaches the servers through package store/changefeed, and requests through package
// keys/callers.
package plans

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Names of the plans on sale. Their numbers are in the table plan_versions.
const (
	Free       = "free"
	Pro        = "pro"
	Business   = "business"
	Enterprise = "enterprise"
)

// Errors of the stores of plans and tenants. Stores wrap them, so compare with errors.Is.
var (
	ErrPlanNotFound = errors.New("no such plan")
	// ErrPlanNotBegun: the plan is sold later.
	ErrPlanNotBegun = errors.New("the plan can't be assigned yet")
	// ErrPlanRetired: the plan is assigned to nobody new.
	ErrPlanRetired = errors.New("the plan is retired")
	// ErrMonthsOff: a server of the last release is alive, and would not enforce the month.
	ErrMonthsOff      = errors.New("no month is enforced while a server of the last release is alive")
	ErrTenantNotFound = errors.New("no such tenant")
	// ErrTenantExists: the name is taken.
	ErrTenantExists = errors.New("a tenant with this name already exists")
	// ErrQuotaRequired: the plan has no numbers of its own, and none were given for the tenant.
	ErrQuotaRequired = errors.New("the plan requires a quota for the tenant")
	// ErrQuotaFixed: numbers were given for a plan that has its own.
	ErrQuotaFixed = errors.New("the plan has a fixed quota")
)

// Quota is the numbers that bind a tenant: per minute and per day, both at least 1, and per month.
type Quota struct {
	PerMinute int64
	PerDay    int64
	Month     Month
}

// Validate says what is wrong with numbers that staff gave. Each must be at least 1, and the
// minute's at most the day's. Month.Validate says what is wrong with the month.
func (q Quota) Validate() error {
	switch {
	case q.PerMinute < 1:
		return fmt.Errorf("requests per minute must be at least 1, not %d", q.PerMinute)
	case q.PerDay < 1:
		return fmt.Errorf("requests per day must be at least 1, not %d", q.PerDay)
	case q.PerMinute > q.PerDay:
		day := strconv.FormatInt(q.PerDay, 10)
		if limit, ok := q.Month.Cap(); ok && limit == q.PerDay {
			day += ": what the month admits"
		}
		return fmt.Errorf("requests per minute (%d) must not exceed requests per day (%s)", q.PerMinute, day)
	}
	return q.Month.Validate()
}

// ValidateDay says that a month admits fewer requests than a day may have. That is right for a boost
// only.
func (q Quota) ValidateDay() error {
	if limit, ok := q.Month.Cap(); ok && q.PerDay > limit {
		return fmt.Errorf("requests per day (%d) must not exceed the month's included requests and overage (%d)",
			q.PerDay, limit)
	}
	return nil
}

// Agreed returns numbers that were agreed with a tenant: what they do not say of the month is none.
// Nil stays nil.
func (q *Quota) Agreed() *Quota {
	if q == nil {
		return nil
	}
	agreed := *q
	agreed.Month = q.Month.Over(Month{Kind: NoMonth})
	return &agreed
}

// Plan is what a tenant buys.
type Plan struct {
	Name string
	// Quota is nil for a plan whose numbers are agreed with each tenant (Enterprise).
	Quota *Quota
	// Version is the version of the numbers, which are in force from From on. For a plan that has
	// not begun it is the first.
	Version int
	From    time.Time
	// Title and Price are texts for people; they may be empty.
	Title, Price string
	// RetiresAt is when the plan is no longer assigned to new tenants; zero for a plan that is
	// sold.
	RetiresAt time.Time
	// Unlisted hides the plan from customers, because it is made for one of them.
	Unlisted bool
}

// Sold reports whether the plan can be assigned at that instant.
func (p Plan) Sold(at time.Time) bool {
	return !p.Unlisted && !p.From.After(at) && (p.RetiresAt.IsZero() || p.RetiresAt.After(at))
}

// Resolve returns the quota of a tenant on this plan. own is the tenant's own numbers, nil for
// none. The error is ErrQuotaRequired, ErrQuotaFixed, or what Quota.Validate found.
func (p Plan) Resolve(own *Quota) (Quota, error) {
	switch {
	case p.Quota == nil && own == nil:
		return Quota{}, fmt.Errorf("plan %s: %w", p.Name, ErrQuotaRequired)
	case p.Quota != nil && own != nil:
		return Quota{}, fmt.Errorf("plan %s: %w", p.Name, ErrQuotaFixed)
	case own != nil:
		return *own, cmp.Or(own.Validate(), own.ValidateDay())
	}
	return *p.Quota, nil
}

// Tenant is a customer: the owner of keys and of a catalogue, bound by the quota of its plan.
type Tenant struct {
	ID   int64
	Name string
	Plan string
	// Assignment and Version are the tenant's assignment and its plan's version now in force.
	Assignment int64
	Version    int
	// Quota is the numbers in force: the plan's, or the assignment's own.
	Quota Quota
	// PlanQuota is the plan's own numbers, before a boost changes them. A number is 0 if the plan
	// has none, or if it was not read.
	PlanQuota Quota
	// Kind is the kind of the assignment.
	Kind Kind
	// SuspendedAt is zero for a tenant in good standing. A suspended tenant's keys are refused.
	SuspendedAt time.Time
	CreatedAt   time.Time
	// Until is when the present state ends, zero for never. From then on the tenant is Next; nil if
	// that is unknown.
	Until time.Time
	Next  *Tenant
	// Profile is for staff only.
	Profile
}

// Profile is what staff note about a tenant; "" for nothing.
type Profile struct {
	// BillingRef is the tenant's number in the billing system, and Email the address for bills.
	BillingRef, Email string
	// Contact is a person to ask, such as "Jo Doe, +49 30 1234". Notes are anything else that staff
	// should know.
	Contact, Notes string
}

// Ended reports whether the tenant's present state is over at that instant.
func (t *Tenant) Ended(at time.Time) bool { return !t.Until.IsZero() && !at.Before(t.Until) }

// Boosted reports which numbers in force differ from the plan's.
func (t *Tenant) Boosted() (minute, day, month bool) {
	own := t.PlanQuota
	return own.PerMinute != 0 && own.PerMinute != t.Quota.PerMinute, own.PerDay != 0 && own.PerDay != t.Quota.PerDay,
		own.PerMinute != 0 && own.Month.InForce() != t.Quota.Month.InForce()
}

// Equal reports whether both tenants, and what follows them, are equal.
func (t *Tenant) Equal(o *Tenant) bool {
	for ; t != nil && o != nil; t, o = t.Next, o.Next {
		a, b := *t, *o
		a.Next, b.Next = nil, nil
		if a != b {
			return false
		}
	}
	return t == o
}
