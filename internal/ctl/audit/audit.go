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
	return cmdutil.NewGroup("audit", "Show and verify the audit trail", newCmdList(f), newCmdShow(f), newCmdExport(f), newCmdVerify(f))
}

// View shows an entry of the audit trail.
var View = output.View[audit.Entry]{
	{Name: "number", Value: func(e audit.Entry) any { return e.Number }, InList: true},
	{Name: "at", Value: func(e audit.Entry) any { return e.At }, InList: true},
	{Name: "login", Value: func(e audit.Entry) any { return e.Login }, InList: true, MinWidth: output.TextWidth},
	{Name: "address", Value: func(e audit.Entry) any { return e.Address }},
	{Name: "claimed_actor", Value: func(e audit.Entry) any { return e.ClaimedActor }},
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

const (
	// narrow is the width of a terminal that has no room for reasons.
	narrow = 100
	// smallest is the width down to which the column is cut that matters least, and changeWidth that of what changed.
	smallest, changeWidth = 6, 13
)

// changeColumn is for people: programs compare before and after.
var changeColumn = output.Column[audit.Entry]{Name: "change", Value: func(e audit.Entry) any { return cmdutil.AuditChange(e) }, MinWidth: changeWidth}

// TableView is the view of a list for people: with what changed and the names of tenants, and without reasons on a narrow terminal.
func TableView(p output.Printer) output.View[audit.Entry] {
	v := named(View)
	i := slices.IndexFunc(v, func(c output.Column[audit.Entry]) bool { return c.Name == "reason" })
	v = slices.Insert(v, i, changeColumn)
	if p.Format != "table" {
		return v
	}
	for i, c := range v {
		switch c.Name {
		case "login":
			v[i].MinWidth, v[i].Spare = smallest, 1
		case "action":
			v[i].MinWidth = output.TextWidth
		}
	}
	v = v.Show("change")
	if p.TTY && p.Width < narrow {
		v = v.Hide("reason")
		if p.Zone != nil {
			v = v.Hide("login")
		}
	}
	return v
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
