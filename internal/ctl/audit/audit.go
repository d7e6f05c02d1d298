// Package audit holds the commands about the audit trail.
package audit

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
)

// NewCmd returns the command audit.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("audit", "Show and verify the audit trail", newCmdList(f), newCmdVerify(f))
}

// View shows an entry of the audit trail.
var View = output.View[audit.Entry]{
	{Name: "number", Value: func(e audit.Entry) any { return e.Number }},
	{Name: "at", Value: func(e audit.Entry) any { return e.At }, InList: true},
	{Name: "login", Value: func(e audit.Entry) any { return e.Login }, InList: true, MinWidth: output.TextWidth},
	{Name: "address", Value: func(e audit.Entry) any { return e.Address }},
	{Name: "claimed_actor", Heading: "CLAIMED", Value: func(e audit.Entry) any { return e.ClaimedActor }, InList: true, MinWidth: output.TextWidth},
	{Name: "action", Value: func(e audit.Entry) any { return e.Action }, InList: true},
	{Name: "tenant_id", Value: func(e audit.Entry) any { return output.NumberOrNil(e.TenantID) }},
	{Name: "tenant", Value: func(e audit.Entry) any { return e.TenantName }},
	{Name: "subject", Value: func(e audit.Entry) any { return e.Subject }, InList: true, MinWidth: output.IDWidth},
	{Name: "before", Value: func(e audit.Entry) any { return e.Before }},
	{Name: "after", Value: func(e audit.Entry) any { return e.After }},
	{Name: "reason", Value: func(e audit.Entry) any { return e.Reason }, InList: true, MinWidth: output.TextWidth},
	{Name: "prev", Value: func(e audit.Entry) any { return e.Prev.String() }},
	{Name: "hash", Value: func(e audit.Entry) any { return e.Hash.String() }},
}

// named returns the view with the names of tenants in place of their numbers, for people.
func named(v output.View[audit.Entry]) output.View[audit.Entry] {
	v = slices.Clone(v)
	for i, c := range v {
		if c.Name == "subject" {
			v[i].Value = func(e audit.Entry) any { return subject(e) }
		}
	}
	return v
}

func subject(e audit.Entry) string {
	switch {
	case e.TenantID == 0 || e.Subject != audit.TenantSubject(e.TenantID):
		return e.Subject
	case e.TenantName == "":
		return fmt.Sprintf("tenant %d (erased)", e.TenantID)
	}
	return e.TenantName
}
