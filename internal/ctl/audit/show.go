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
	"petstore.example/internal/store"
)

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
	if errors.Is(err, store.ErrEntryNotFound) {
		return notFound(number, "see: petstorectl audit list")
	}
	if err != nil {
		return err
	}
	p := f.Printer()
	if p.Whole() {
		return output.Item(p, View, e)
	}
	v := slices.DeleteFunc(slices.Clone(named(View)), func(c output.Column[audit.Entry]) bool {
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
func compare(e audit.Entry, hidden *store.HiddenValues) (all []member) {
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
