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
		newCmdSuspend(f), newCmdResume(f),
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
	{Name: "created_at", Value: func(t plans.Tenant) any { return t.CreatedAt }, InList: true},
	{Name: "suspended_at", Value: func(t plans.Tenant) any { return t.SuspendedAt }},
}

// Status is active or suspended.
func Status(t plans.Tenant) string {
	if t.SuspendedAt.IsZero() {
		return "active"
	}
	return "suspended"
}

// QuotaText is a quota in words.
func QuotaText(q plans.Quota) string {
	return fmt.Sprintf("%s requests per minute, %s per day", output.Thousands(q.PerMinute), output.Thousands(q.PerDay))
}
