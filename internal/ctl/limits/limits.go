// Package limits holds the commands about what tenants have used of their limits.
package limits

import (
	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

// NewCmd returns the command limits.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("limits,limit", "Manage what tenants have used of their limits", newCmdReset(f))
}

// View shows a reset.
var View = output.View[store.LimitsReset]{
	{Name: "tenant", Value: func(r store.LimitsReset) any { return r.Tenant }},
	{Name: "day_used", Value: func(r store.LimitsReset) any { return r.DayUsed }},
}
