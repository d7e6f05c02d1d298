// Package usage holds the commands about usage.
package usage

import (
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store/billing"
)

// NewCmd returns the command usage.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup(
		"usage",
		"Report usage by month",
		newCmdShow(f),
		newCmdExport(f),
		newCmdClose(f),
		newCmdVerify(f),
		newCmdEvents(f),
		newCmdForget(f),
		newCmdHandOn(f),
		newCmdResend(f),
		newCmdWaive(f),
	)
}

// View shows a row of a report: the columns of its grouping and the sums.
func View(grouping billing.UsageBy, month string) output.View[billing.UsageRow] {
	type row = billing.UsageRow
	columns := map[string]output.Column[row]{
		"month":    {Value: func(row) any { return month }},
		"tenant":   {Value: func(r row) any { return r.Tenant }, InList: true, MinWidth: output.TextWidth},
		"plan":     {Value: func(r row) any { return r.Plan }, InList: true},
		"key_id":   {Value: func(r row) any { return r.KeyID }, InList: true},
		"key_name": {Value: func(r row) any { return r.KeyName }, InList: true, MinWidth: output.TextWidth},
		"day":      {Value: func(r row) any { return r.At.Format(time.DateOnly) }, InList: true},
		"hour":     {Value: func(r row) any { return r.At.Format(time.RFC3339) }, InList: true},
		"admitted": {Value: func(r row) any { return r.Admitted }, InList: true},
		"refused":  {Value: func(r row) any { return r.Refused }, InList: true},
		"overage":  {Value: func(r row) any { return r.Overage }, InList: true},
	}
	names := map[billing.UsageBy][]string{
		billing.ByTenantAndPlan: {"month", "tenant", "plan"},
		billing.ByTenant:        {"month", "tenant"},
		billing.ByPlan:          {"month", "plan"},
		billing.ByKey:           {"month", "tenant", "key_id", "key_name"},
		billing.ByDay:           {"day"},
		billing.ByHour:          {"hour"},
	}[grouping]
	names = append(names, "admitted", "refused")
	if grouping != billing.ByKey { // A key has no included number.
		names = append(names, "overage")
	}
	var v output.View[row]
	for _, name := range names {
		c := columns[name]
		c.Name = name
		v = append(v, c)
	}
	return v
}
