// Package audit holds the commands about the audit trail.
package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store/trail"
)

// NewCmd returns the command audit.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("audit", "Show and verify the audit trail", newCmdList(f), newCmdShow(f), newCmdVerify(f))
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
	// smallest is the least width of the least important column, changeWidth the least width of the
	// column with the change.
	smallest, changeWidth = 6, 13
)

// changeColumn is for people; programs compare before and after.
var changeColumn = output.Column[audit.Entry]{
	Name:     "change",
	Value:    func(e audit.Entry) any { return cmdutil.AuditChange(e) },
	MinWidth: changeWidth,
}

// TableView is the view of a list for people. It adds what changed and the names of tenants, and on
// a narrow terminal omits the reasons.
func TableView(p output.Printer) output.View[audit.Entry] {
	i := slices.IndexFunc(named, func(c output.Column[audit.Entry]) bool { return c.Name == "reason" })
	v := slices.Insert(slices.Clone(named), i, changeColumn)
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

// named is View for people: it has the names of tenants in place of their numbers, and who invited
// whom.
var named = View.With("subject", subject).With("login", login)

func login(e audit.Entry) any {
	if by := e.InvitedBy(); by != "" {
		return e.Login + ", invited by " + by
	}
	return e.Login
}

func subject(e audit.Entry) any {
	switch {
	case e.TenantID == 0 || e.Subject != audit.TenantSubject(e.TenantID):
		return e.Subject
	case e.TenantName == "":
		return fmt.Sprintf("tenant %d (erased)", e.TenantID)
	}
	return e.TenantName
}

func newCmdShow(f *cmdutil.Factory) *cobra.Command {
	var text string
	return cmdutil.SetColumns(cmdutil.OutputCommand(f, &cobra.Command{
		Use:   "show AUDIT-ID",
		Short: "Show a change: before and after it, side by side",
		Long: `Show a change: before and after it, side by side. An asterisk marks what
differs. Members that the entry does not hold, such as names, are shown for 30
days, unless the tenant is erased before.`,
		Example: `  petstorectl audit show 4711
  petstorectl audit show 4711 -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runShow(cmd.Context(), f, text) },
	}, cmdutil.Arg{Name: "AUDIT-ID", Value: &text}), View.Names())
}

// member is one line of the comparison.
type member struct{ changed, name, before, after string }

var memberView = output.View[member]{
	{Name: "changed", Heading: " ", Value: func(m member) any { return m.changed }, InList: true},
	{Name: "member", Value: func(m member) any { return m.name }, InList: true},
	{Name: "before", Value: func(m member) any { return m.before }, InList: true, MinWidth: output.TextWidth},
	{Name: "after", Value: func(m member) any { return m.after }, InList: true, MinWidth: output.TextWidth},
}

func runShow(ctx context.Context, f *cmdutil.Factory, text string) error {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 1 {
		return cmdutil.UsageErrorf("%.80q is not the number of an audit entry", text)
	}
	db, err := f.DB(ctx)
	if err != nil {
		return err
	}
	e, hidden, err := db.Audit.Get(ctx, number)
	if errors.Is(err, trail.ErrEntryNotFound) {
		return notFound(number, "see: petstorectl audit list")
	}
	if err != nil {
		return err
	}
	p := f.Printer()
	if p.Whole() {
		return output.Item(p, View, e)
	}
	v := slices.DeleteFunc(slices.Clone(named), func(c output.Column[audit.Entry]) bool {
		return slices.Contains([]string{"before", "after", "prev", "hash"}, c.Name)
	})
	if err := output.Item(p, v, e); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f.Out); err != nil {
		return err
	}
	return output.List(p, memberView, compare(e, hidden))
}

// compare returns the members before and after the change.
func compare(e audit.Entry, hidden *trail.HiddenValues) (all []member) {
	before, after := cmdutil.AuditMembers(e.Before), cmdutil.AuditMembers(e.After)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		m := member{"", name, before[name], after[name]}
		if m.before != m.after {
			m.changed = "*"
		}
		all = append(all, m)
	}
	for _, name := range e.Redacted() {
		m := member{"*", name, "(redacted)", "(redacted)"}
		if hidden != nil {
			m.before, m.after = hidden.Before[name], hidden.After[name]
		}
		all = append(all, m)
	}
	return all
}
