package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/plans"
)

func newCmdTenant(f *factory) *cobra.Command {
	return newGroup("tenant,tenants", "Manage tenants",
		newCmdTenantCreate(f, nil), newCmdTenantList(f, nil), newCmdTenantShow(f, nil),
		newCmdTenantSuspend(f, nil), newCmdTenantResume(f, nil),
	)
}

var tenantView = view[plans.Tenant]{
	{name: "name", value: func(t plans.Tenant) any { return t.Name }, short: true, least: textWidth},
	{name: "id", value: func(t plans.Tenant) any { return t.ID }},
	{name: "plan", value: func(t plans.Tenant) any { return t.Plan }, short: true},
	{name: "per_minute", value: func(t plans.Tenant) any { return t.Quota.PerMinute }, short: true},
	{name: "per_day", value: func(t plans.Tenant) any { return t.Quota.PerDay }, short: true},
	{name: "status", value: func(t plans.Tenant) any { return tenantStatus(t) }, short: true},
	{name: "created_at", value: func(t plans.Tenant) any { return t.CreatedAt }, short: true},
	{name: "suspended_at", value: func(t plans.Tenant) any { return t.SuspendedAt }},
}

func tenantStatus(t plans.Tenant) string {
	if t.SuspendedAt.IsZero() {
		return "active"
	}
	return "suspended"
}

func quotaText(t plans.Tenant) string {
	return fmt.Sprintf("%s requests per minute, %s per day", thousands(t.Quota.PerMinute), thousands(t.Quota.PerDay))
}
