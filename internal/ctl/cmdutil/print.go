package cmdutil

import (
	"fmt"

	"petstore.example/internal/ctl/output"
)

// Printer prints to stdout in the format of --output. Without that flag a terminal gets a table, a pipe gets rows.
func (f *Factory) Printer() output.Printer {
	p := output.Printer{Out: f.Out, Format: f.Output, TTY: f.OutTTY, Width: f.Width, Now: f.Now()}
	if p.Format == "" && p.TTY {
		p.Format = "table"
	}
	return p
}

// PrintLimited prints at most limit items, and says if there are more or none.
func PrintLimited[T any](f *Factory, v output.View[T], items []T, limit int, empty string) error {
	if len(items) > limit {
		f.Messagef("showing the first %d; use --limit for more", limit)
		items = items[:limit]
	}
	if len(items) == 0 {
		f.Messagef("%s", empty)
	}
	return PrintList(f, v, items)
}

// PrintList prints items. A table or rows without any item would be no more than headings: they are left out.
func PrintList[T any](f *Factory, v output.View[T], items []T) error {
	if p := f.Printer(); len(items) > 0 || p.Format == "json" || p.Format == "csv" {
		return output.List(p, v, items)
	}
	return nil
}

// PrintChanged prints the changed item for programs. A person at a terminal has read the message.
func PrintChanged[T any](f *Factory, v output.View[T], item T) error {
	if f.Output == "" && f.OutTTY && !f.DryRun {
		return nil
	}
	return output.Item(f.Printer(), v, item)
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
