package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

// beginning returns when an assignment begins: zero for now, which is what the database's clock shows.
func beginning(f *cmdutil.Factory, from cmdutil.When) time.Time {
	if from.IsNow() {
		return time.Time{}
	}
	return from.After(f.Now())
}

// notice says what a change of a tenant's assignments did.
func notice(c store.PlanChange, dryRun bool) cmdutil.Notice {
	item := "tenant " + c.Tenant.Name
	if c.Unchanged {
		return cmdutil.Notice{Text: unchanged(c), Item: item, Unchanged: true}
	}
	n := cmdutil.Notice{Text: assigned(c), Item: item, More: append(consequences(c), following(c)...)}
	if c.Assignment.From.After(c.Now) && !dryRun {
		n.More = append(n.More, fmt.Sprintf("to take it back: petstorectl plan unschedule %d", c.Assignment.ID))
	}
	return n
}

// changed is the assignment that was made, as it is or will be in force.
func changed(c store.PlanChange) store.Coming {
	at := c.Now
	if c.Assignment.From.After(at) {
		at = c.Assignment.From
	}
	return store.Coming{Tenant: c.Tenant.Name, Period: *c.At(at), Until: c.Assignment.Until}
}

func unchanged(c store.PlanChange) string {
	if a := c.Assignment; a.From.After(c.Now) {
		return fmt.Sprintf("tenant %s is on plan %s from %s already, %s",
			c.Tenant.Name, a.Plan, output.Text(a.From), tenant.QuotaText(c.At(a.From).Quota))
	}
	return fmt.Sprintf("tenant %s is already on plan %s, %s", c.Tenant.Name, c.Tenant.Plan, tenant.QuotaText(c.Tenant.Quota))
}

// assigned says what begins when, and what follows.
func assigned(c store.PlanChange) string {
	a, is, was := c.Assignment, c.At(c.Assignment.From), c.Was
	later := a.From.After(c.Now)
	var text string
	switch {
	case a.Kind == plans.Boost && later:
		text = fmt.Sprintf("scheduled a boost of tenant %s on plan %s from %s", c.Tenant.Name, is.Plan, output.Text(a.From))
	case a.Kind == plans.Boost:
		text = fmt.Sprintf("boosted tenant %s on plan %s", c.Tenant.Name, is.Plan)
	case later:
		text = fmt.Sprintf("scheduled plan %s for tenant %s from %s", is.Plan, c.Tenant.Name, output.Text(a.From))
	case was.Plan != is.Plan:
		text = fmt.Sprintf("moved tenant %s from plan %s to %s", c.Tenant.Name, was.Plan, is.Plan)
	case was.Quota != is.Quota:
		text = fmt.Sprintf("changed the quota of tenant %s on plan %s", c.Tenant.Name, is.Plan)
	default:
		text = fmt.Sprintf("assigned plan %s to tenant %s anew", is.Plan, c.Tenant.Name)
	}
	text += ": " + tenant.QuotaText(is.Quota)
	if a.Temporary() {
		text += fmt.Sprintf(" until %s, then %s", output.Text(a.Until), periodText(c.At(a.Until)))
	}
	return text
}

// periodText is a plan and its numbers.
func periodText(p *plans.Period) string { return p.Plan + ": " + tenant.QuotaText(p.Quota) }

// maxFollowing is how many of the assignments are named that follow a new one.
const maxFollowing = 3

// consequences are what no longer comes because of the change, comes otherwise, or comes again.
func consequences(c store.PlanChange) (lines []string) {
	for _, r := range c.Removed {
		if again := c.At(r.From); again.AssignedFrom.Equal(r.From) && again.Assignment != c.Assignment.ID {
			lines = append(lines, fmt.Sprintf("what is scheduled at %s becomes plan %s (%d in place of %d)", output.Text(r.From), periodText(again), again.Assignment, r.ID))
		} else if r.ID != c.Assignment.ID {
			lines = append(lines, fmt.Sprintf("plan %s no longer follows at %s (%d)", r.Plan, output.Text(r.From), r.ID))
		}
	}
	for _, a := range c.Added {
		changed := slices.ContainsFunc(c.Removed, func(r plans.Assignment) bool { return r.From.Equal(a.From) })
		if !changed && a.ID != c.Assignment.ID && a.Ends != c.Assignment.ID {
			lines = append(lines, fmt.Sprintf("plan %s follows at %s again (%d)", a.Plan, output.Text(a.From), a.ID))
		}
	}
	return lines
}

// following names the assignments that end a new one that lasts, and how to remove it.
func following(c store.PlanChange) (lines []string) {
	a := c.Assignment
	for _, p := range c.Periods {
		if !a.Temporary() && p.From.After(a.From) && p.From.Equal(p.AssignedFrom) && p.Kind == plans.Assigned && len(lines) < maxFollowing {
			lines = append(lines, fmt.Sprintf("plan %s follows at %s: petstorectl plan unschedule %d", p.Plan, output.Text(p.From), p.Assignment))
		}
	}
	return lines
}

// explain returns the Error for an error about an assignment.
func explain(ctx context.Context, f *cmdutil.Factory, err error, s cmdutil.Subject) error {
	var conflict plans.ConflictError
	if !errors.As(err, &conflict) {
		return f.Explain(ctx, err, s)
	}
	with := conflict.With
	e := &cmdutil.Error{Code: cmdutil.ExitRefused, Message: fmt.Sprintf("another change of tenant %s is scheduled at %s: plan %s (%s, ID %d)",
		s.Tenant, output.Text(with.From), with.Plan, with.Kind, with.ID)}
	if with.Kind == plans.End {
		return e.WithHint("end before it, or begin after it") // Without it, what is in force now would never end.
	}
	return e.WithHint(fmt.Sprintf("end before it, begin after it, or remove it first: petstorectl plan unschedule %d", with.ID))
}
