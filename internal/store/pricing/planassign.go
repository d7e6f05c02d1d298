package pricing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// Timelines changes the assignments of tenants, and lists coming ones.
type Timelines struct{ db *pgconn.DB }

// NewAssignment is an assignment or a boost of a tenant before it is made.
type NewAssignment struct {
	Tenant string
	// Kind is plans.Assigned or plans.Boost. A boost has no Plan: it keeps the present one.
	Kind plans.Kind
	Plan string
	// Own is the tenant's own numbers, which a plan without numbers requires and others refuse. For
	// a boost it is the boost's numbers, one of which may be 0. If it changes the month only, the
	// day's number is as plans.Quota.DayUnder has it.
	Own *plans.Quota
	// From is zero for now.
	From time.Time
	// Until returns when it ends by itself; nil for never. Then is the plan that follows, "" for
	// the one before.
	Until func(from time.Time) time.Time
	Then  string
}

// PlanChange is a change of a tenant's timeline that was made.
type PlanChange struct {
	Tenant plans.Tenant
	// Assignment was added or removed. If the plan to assign is in force already, it is the present
	// assignment and Unchanged is set.
	Assignment plans.Assignment
	Unchanged  bool
	// Now is when the change was made. Periods are all of the tenant's periods that end after it.
	Now     time.Time
	Periods []plans.Period
	// Was is what was, or would have been, in force when the assignment begins; nil for nothing.
	Was *plans.Period
	plans.Change
	// removed and within are for the audit entry, as in assignmentRecord.
	removed *removedRecord
	within  []int64
}

// At returns what is in force at an instant that is not past, nil for nothing.
func (c PlanChange) At(at time.Time) *plans.Period { return periodAt(c.Periods, at) }

// Assign makes an assignment or a boost. It returns plans.ErrTenantNotFound, ErrPlanNotFound,
// ErrPlanRetired, ErrQuotaRequired, ErrQuotaFixed, ErrThenQuota, ErrQuota, ErrInPast, ErrNoTime,
// ErrAssignmentBegins or a plans.ConflictError.
func (d Timelines) Assign(ctx context.Context, by audit.By, n NewAssignment) (done PlanChange, err error) {
	defer pgconn.Wrap(&err, "assign plan")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		line, err := d.beginPlanChange(ctx, tx, n.Tenant, &done)
		if err != nil {
			return err
		}
		a, err := d.assignment(ctx, tx, n, &done)
		if err != nil {
			return err
		}
		before, _ := line.At(a.From)
		refused := CheckPlans(ctx, tx, a, before.Plan)
		if refused != nil && !errors.Is(refused, plans.ErrPlanRetired) {
			return refused
		}
		if done.Change, err = line.Assign(a, done.Now); err != nil {
			return err
		}
		if done.Unchanged = inForceAlready(a, line, done.Change); done.Unchanged {
			done.Assignment = before
			return d.readPlanChange(ctx, tx, &done)
		}
		if refused != nil {
			return refused
		}
		if err := d.store(ctx, tx, &done); err != nil {
			return err
		}
		i := slices.IndexFunc(done.Added, func(b plans.Assignment) bool { return b.From.Equal(a.From) })
		done.Assignment = done.Added[i]
		if err := checkInForce(done); err != nil {
			return err
		}
		done.Was = done.At(a.From.Add(-time.Microsecond))
		return writePlanAudit(tx, by, "plan."+string(a.Kind), done)
	})
	return done, err
}

// assignment returns the new assignment. One without a beginning begins now, or at the first later
// instant at which none begins yet; c.Now becomes that instant.
func (d Timelines) assignment(
	ctx context.Context,
	tx pgconn.Tx,
	n NewAssignment,
	c *PlanChange,
) (a plans.Assignment, err error) {
	a = plans.Assignment{
		Kind: n.Kind,
		Plan: n.Plan,
		From: n.From.UTC().Truncate(time.Microsecond),
		Then: n.Then,
	}
	if a.Own = n.Own; a.Kind == plans.Assigned {
		a.Own = n.Own.Agreed()
	}
	if n.From.IsZero() {
		if c.Now, err = nextInstant(ctx, d.db, tx, c.Tenant.ID, c.Now); err != nil {
			return a, err
		}
		a.From = c.Now
	} else if a.From.Before(c.Now) {
		var past bool
		if err := tx.Get(ctx, &past, `select $1 < past_until()`, a.From); err != nil {
			return a, err
		}
		if past {
			return a, plans.ErrInPast
		}
		c.Now = a.From
	}
	if n.Until != nil {
		a.Until = n.Until(a.From)
	}
	if a.Kind == plans.Boost && a.Own.PerDay == 0 {
		periods, err := readPeriods(ctx, tx, c.Tenant.ID, a.From)
		if err != nil {
			return a, err
		}
		if before := periodAt(periods, a.From); before != nil {
			a.Own = withDay(*a.Own, before.Quota)
		}
	}
	return a, nil
}

// withDay names the day's number of a boost that raises it with the month.
func withDay(boost, before plans.Quota) *plans.Quota {
	if day := before.DayUnder(boost.Month.Over(before.Month)); day > before.PerDay {
		boost.PerDay = day
	}
	return &boost
}

// beginPlanChange locks a tenant and returns its timeline.
func (d Timelines) beginPlanChange(
	ctx context.Context,
	tx pgconn.Tx,
	tenant string,
	c *PlanChange,
) (line plans.Timeline, err error) {
	*c = PlanChange{}
	if c.Tenant, err = tenants.Lock(ctx, tx, tenant, d.db.Now()); err != nil {
		return line, err
	}
	if c.Now, err = pgconn.Instant(ctx, d.db, tx, time.Time{}); err != nil {
		return line, err
	}
	return timelineOf(ctx, tx, c.Tenant.ID)
}

// store stores the change, and reads the tenant's state after it.
func (d Timelines) store(ctx context.Context, tx pgconn.Tx, c *PlanChange) (err error) {
	if c.Change, err = ApplyChange(ctx, tx, c.Tenant.ID, c.Change); err != nil {
		return err
	}
	return d.readPlanChange(ctx, tx, c)
}

// readPlanChange reads the tenant's state after the change.
func (d Timelines) readPlanChange(ctx context.Context, tx pgconn.Tx, c *PlanChange) (err error) {
	if c.Tenant, err = tenants.Get(ctx, tx, c.Tenant.Name, pgconn.NullTime(c.Now)); err != nil {
		return err
	}
	c.Periods, err = readPeriods(ctx, tx, c.Tenant.ID, c.Now.Add(-time.Microsecond))
	return err
}

// checkInForce returns plans.ErrQuota if the numbers are wrong that are in force when the assignment
// begins, or if a scheduled boost would then admit no request of a month.
func checkInForce(c PlanChange) error {
	q := c.At(c.Assignment.From).Quota
	if own := c.Assignment.Own; own != nil && q.Month.Kind != plans.SomeMonth {
		q.Month = own.Month // An overage of its own needs a month.
	}
	if err := q.Validate(); err != nil {
		return fmt.Errorf("%w: %w", plans.ErrQuota, err)
	}
	for _, a := range c.Added {
		if err := c.At(a.From).Quota.Month.Validate(); err != nil {
			return fmt.Errorf("%w: from %s on %w", plans.ErrQuota, a.From.Format(time.RFC3339), err)
		}
	}
	return nil
}

// inForceAlready reports whether the assignment is already in force at its beginning, without an
// end.
func inForceAlready(a plans.Assignment, line plans.Timeline, c plans.Change) bool {
	last, _ := line.At(a.From)
	generation := last.Generation
	if generation == 0 {
		generation = line.Generation(last.Plan, last.From)
	}
	return a.Kind == plans.Assigned && !a.Temporary() && len(c.Removed) == 0 && last.Kind != plans.Boost &&
		!last.Temporary() &&
		a.Plan == last.Plan && plans.SameQuota(a.Own, last.Own) &&
		generation == line.Generation(a.Plan, a.From)
}

// CheckPlans checks that the plans are sold when they begin, and with these numbers. A tenant may
// return to its plan of before.
func CheckPlans(ctx context.Context, tx pgconn.Tx, a plans.Assignment, before string) error {
	if a.Kind != plans.Boost {
		if err := checkQuota(ctx, tx, a.Plan, a.Own, a.From); err != nil {
			return err
		}
	}
	if a.Then == "" {
		return nil
	}
	err := checkQuota(ctx, tx, a.Then, nil, a.Until)
	switch {
	case errors.Is(err, plans.ErrPlanRetired) && a.Then == before:
		return nil
	case errors.Is(err, plans.ErrQuotaRequired):
		err = plans.ErrThenQuota
	}
	if err != nil {
		return plans.PlanError{Plan: a.Then, Err: err}
	}
	return nil
}

// assignmentRecord is what an audit entry holds of a change of a tenant's plan.
type assignmentRecord struct {
	Assignment int64  `json:"assignment"`
	Plan       string `json:"plan"`
	PerMinute  int64  `json:"per_minute"`
	PerDay     int64  `json:"per_day"`
	tenants.MonthRecord
	From       time.Time  `json:"from"`
	Until      *time.Time `json:"until,omitempty"`
	Then       string     `json:"then,omitempty"`
	VoidedAt   *time.Time `json:"voided_at,omitempty"`
	VoidReason string     `json:"void_reason,omitempty"`
	// Within are the other assignments that the same undo made. This one is temporary, and within
	// them.
	Within []int64 `json:"within,omitempty"`
	// Removed is what is needed to schedule the removed assignment again. It begins at From.
	Removed *removedRecord `json:"removed,omitempty"`
}

// removedRecord is an assignment that was removed before it began. Lasts is the assignment whose
// end was removed.
type removedRecord struct {
	Kind      plans.Kind `json:"kind"`
	Plan      string     `json:"plan"`
	PerMinute int64      `json:"per_minute,omitempty"`
	PerDay    int64      `json:"per_day,omitempty"`
	tenants.MonthRecord
	Until *time.Time `json:"until,omitempty"`
	Then  string     `json:"then,omitempty"`
	Lasts int64      `json:"lasts,omitempty"`
}

// recordRemoved returns the record of an assignment that was removed from the timeline.
func recordRemoved(a plans.Assignment, line plans.Timeline) *removedRecord {
	r := &removedRecord{Kind: a.Kind, Plan: a.Plan, Until: trail.TimeOrNil(a.Until), Then: a.Then, Lasts: a.Ends}
	named := a.Named
	if named == (plans.Quota{}) && a.Own != nil {
		named = *a.Own
	}
	r.PerMinute, r.PerDay, r.MonthRecord = named.PerMinute, named.PerDay, tenants.RecordMonth(named.Month)
	if i := slices.IndexFunc(
		line.Assignments,
		func(b plans.Assignment) bool { return a.Kind == plans.End && a.Ends == b.ID },
	); i >= 0 {
		r.Then = line.Assignments[i].Then
	}
	return r
}

// writePlanAudit writes the entry of a change: what is in force from the beginning of the
// assignment on, before and after the change.
func writePlanAudit(tx pgconn.Tx, by audit.By, action string, c PlanChange) error {
	e := trail.Entry{Action: action, TenantID: c.Tenant.ID, Subject: audit.TenantSubject(c.Tenant.ID)}
	a := c.Assignment
	if c.Was != nil {
		before := recordPeriod(*c.Was)
		before.Removed = c.removed
		e.Before = before
	}
	if p := c.At(a.From); p != nil {
		after := recordPeriod(*p)
		after.From, after.Until, after.Then, after.Within = a.From, trail.TimeOrNil(a.Until), a.Then, c.within
		e.After = after
	}
	return trail.Write(tx, by, e)
}

func recordPeriod(p plans.Period) assignmentRecord {
	return assignmentRecord{
		Assignment:  p.Assignment,
		Plan:        p.Plan,
		PerMinute:   p.Quota.PerMinute,
		PerDay:      p.Quota.PerDay,
		MonthRecord: tenants.RecordMonth(p.Quota.Month),
		From:        p.From.UTC(),
		VoidedAt:    trail.TimeOrNil(p.VoidedAt),
		VoidReason:  p.VoidReason,
	}
}
