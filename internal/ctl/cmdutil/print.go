package cmdutil

import (
	"fmt"

	"petstore.example/internal/ctl/output"
)

// Printer prints to stdout in the format of --output. Without that flag a terminal gets a table, a
// pipe gets rows.
func (f *Factory) Printer() output.Printer {
	p := output.Printer{
		Out: f.Out, Format: f.Output, Columns: f.columns, Filter: f.filter,
		TTY: f.OutTTY, Width: f.Width, Now: f.Now(), Zone: f.zone, Colors: f.Colors,
	}
	switch {
	case p.Format == "" && p.Filter != nil:
		p.Format = "json"
	case p.Format == "" && p.TTY:
		p.Format = "table"
	}
	return p
}

// PrintList prints items. If there are none it prints nothing in a table or rows, which would have
// only headings.
func PrintList[T any](f *Factory, v output.View[T], items []T) error {
	if p := f.Printer(); len(items) > 0 || p.Whole() {
		return output.List(p, v, items)
	}
	return nil
}

// PrintChanged prints the changed item, unless the message is enough: for a person at a terminal.
func PrintChanged[T any](f *Factory, v output.View[T], item T) error {
	if quiet(f) {
		return nil
	}
	return output.Item(f.Printer(), v, item)
}

// PrintChangedList prints the changed items as PrintChanged does.
func PrintChangedList[T any](f *Factory, v output.View[T], items []T) error {
	if quiet(f) {
		return nil
	}
	return PrintList(f, v, items)
}

// quiet tells whether a change prints only its sentence: at a terminal, unless a format or columns
// were asked for.
func quiet(f *Factory) bool {
	return isTable(f) && !f.DryRun
}

// isTable tells whether a terminal gets a table because no format or columns were asked for.
func isTable(f *Factory) bool {
	return f.Output == "" && f.columns == nil && f.filter == nil && f.OutTTY
}

// Changedf reports a change that was made, or only tried.
func (f *Factory) Changedf(format string, args ...any) {
	if f.DryRun {
		format = "would have " + format
	}
	f.Messagef("%s", fmt.Sprintf(format, args...))
	if f.DryRun {
		f.Messagef("dry run: nothing was changed")
	}
}
