// Package audit holds the commands about the audit trail.
package audit

import (
	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
)

// NewCmd returns the command audit.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("audit", "Show the audit trail", newCmdList(f))
}

// View shows an entry of the audit trail.
var View = output.View[audit.Entry]{
	{Name: "id", Value: func(e audit.Entry) any { return e.ID }},
	{Name: "at", Value: func(e audit.Entry) any { return e.At }, InList: true},
	{Name: "actor", Value: func(e audit.Entry) any { return e.Actor }, InList: true, MinWidth: output.TextWidth},
	{Name: "action", Value: func(e audit.Entry) any { return e.Action }, InList: true},
	{Name: "tenant", Value: func(e audit.Entry) any { return e.Tenant }},
	{Name: "subject", Value: func(e audit.Entry) any { return e.Subject }, InList: true, MinWidth: output.IDWidth},
	{Name: "before", Value: func(e audit.Entry) any { return e.Before }},
	{Name: "after", Value: func(e audit.Entry) any { return e.After }},
	{Name: "reason", Value: func(e audit.Entry) any { return e.Reason }, InList: true, MinWidth: output.TextWidth},
}
