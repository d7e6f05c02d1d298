// Package tenant holds the commands about tenants.
package tenant

import (
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
)

// NewCmd returns the command tenant.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("tenant,tenants", "Manage tenants",
		newCmdCreate(f), newCmdList(f), newCmdShow(f),
		newCmdEdit(f), newCmdSuspend(f), newCmdResume(f),
		newCmdExport(f), newCmdErase(f),
	)
}

// View shows a tenant.
var View = output.View[plans.Tenant]{
	{Name: "name", Value: func(t plans.Tenant) any { return t.Name }, InList: true, MinWidth: output.TextWidth},
	{Name: "id", Value: func(t plans.Tenant) any { return t.ID }},
	{Name: "plan", Value: func(t plans.Tenant) any { return t.Plan }, InList: true},
	{Name: "per_minute", Value: func(t plans.Tenant) any { return t.Quota.PerMinute }, InList: true},
	{Name: "per_day", Value: func(t plans.Tenant) any { return t.Quota.PerDay }, InList: true},
	{Name: "status", Value: func(t plans.Tenant) any { return Status(t) }, InList: true},
	{Name: "created_at", Value: func(t plans.Tenant) any { return t.CreatedAt }},
	{Name: "suspended_at", Value: func(t plans.Tenant) any { return t.SuspendedAt }},
	{Name: "kind", Value: func(t plans.Tenant) any { return string(t.Kind) }},
	{Name: "next_plan", Value: func(t plans.Tenant) any { return next(t).Plan }, InList: true},
	{Name: "next_per_minute", Value: func(t plans.Tenant) any { return output.NumberOrNil(next(t).Quota.PerMinute) }},
	{Name: "next_per_day", Value: func(t plans.Tenant) any { return output.NumberOrNil(next(t).Quota.PerDay) }},
	{Name: "next_at", Value: func(t plans.Tenant) any { return t.Until }, InList: true},
	{Name: "billing_ref", Value: func(t plans.Tenant) any { return t.BillingRef }},
	{Name: "email", Value: func(t plans.Tenant) any { return t.Email }},
	{Name: "contact", Value: func(t plans.Tenant) any { return t.Contact }},
	{Name: "notes", Value: func(t plans.Tenant) any { return t.Notes }},
}

// next is what is in force when the present plan or its numbers end, the zero Tenant if nothing is scheduled.
func next(t plans.Tenant) plans.Tenant {
	if t.Next == nil {
		return plans.Tenant{}
	}
	return *t.Next
}

// Status is active, suspended or erased.
func Status(t plans.Tenant) string {
	switch {
	case t.Erased():
		return "erased"
	case t.SuspendedAt.IsZero():
		return "active"
	}
	return "suspended"
}

// QuotaText is a quota in words.
func QuotaText(q plans.Quota) string {
	return fmt.Sprintf("%s requests per minute, %s per day", output.Thousands(q.PerMinute), output.Thousands(q.PerDay))
}
