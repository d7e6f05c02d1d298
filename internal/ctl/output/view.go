package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Column is one value of an item. Its name is the member in JSON and the heading in CSV.
type Column[T any] struct {
	Name string
	// Heading is the heading in a table; empty for the name in capitals.
	Heading string
	// Value returns a string ("" for none), a bool, an int64, a *int64 (nil for none), a time (zero
	// for none), a []string or raw JSON.
	Value func(T) any
	// InList is set for the columns of a list's table and rows. The others appear for a single
	// item, in JSON and in CSV.
	InList bool
	// MinWidth is the least width of the column on a narrow terminal; 0 if it is never cut.
	MinWidth int
	// Spare orders the columns that are left out of a table too wide for the terminal, the highest
	// number first; 0 for never.
	Spare int
}

// The least widths of columns of text and of IDs. An ID stays whole.
const (
	TextWidth = 8
	IDWidth   = 20
)

func (c Column[T]) heading() string {
	return cmp.Or(c.Heading, strings.ToUpper(strings.ReplaceAll(c.Name, "_", " ")))
}

// View says how items are printed.
type View[T any] []Column[T]

// Names returns the names of the columns in order.
func (v View[T]) Names() []string {
	names := make([]string, len(v))
	for i, c := range v {
		names[i] = c.Name
	}
	return names
}

// List returns the columns of a list.
func (v View[T]) List() View[T] {
	return slices.DeleteFunc(slices.Clone(v), func(c Column[T]) bool { return !c.InList })
}

// ColumnError is the error of a column that a view does not have.
type ColumnError struct {
	Name  string
	Known []string
}

// Error implements error.
func (e ColumnError) Error() string {
	return fmt.Sprintf("no column %q; the columns are: %s", e.Name, strings.Join(e.Known, ", "))
}

// pick returns the columns with these names, in this order and also in lists. For nil it returns
// the whole view.
func (v View[T]) pick(names []string) (View[T], error) {
	if names == nil {
		return v, nil
	}
	picked := make(View[T], len(names))
	for i, name := range names {
		at := slices.IndexFunc(v, func(c Column[T]) bool { return c.Name == name })
		if at < 0 {
			return nil, ColumnError{name, v.Names()}
		}
		picked[i] = v[at]
		picked[i].InList, picked[i].Spare = true, 0
	}
	return picked, nil
}

// Pick returns the columns with these names, in this order, for a view of something that contains a
// T. The view must have them.
func (v View[T]) Pick(names ...string) View[T] {
	picked, err := v.pick(names)
	if err != nil {
		panic(err)
	}
	return picked
}

// With returns the view with another value of a column.
func (v View[T]) With(name string, value func(T) any) View[T] {
	changed := slices.Clone(v)
	changed[slices.IndexFunc(v, func(c Column[T]) bool { return c.Name == name })].Value = value
	return changed
}

// Show returns the view with these columns in lists too.
func (v View[T]) Show(names ...string) View[T] { return v.inList(true, names) }

// Hide returns the view without these columns in lists.
func (v View[T]) Hide(names ...string) View[T] { return v.inList(false, names) }

func (v View[T]) inList(shown bool, names []string) View[T] {
	changed := slices.Clone(v)
	for i, c := range changed {
		if slices.Contains(names, c.Name) {
			changed[i].InList = shown
		}
	}
	return changed
}

// FormatTimes returns the view with its times in this layout, also in tables. A Z at its end stands
// for the zone, which is UTC unless another was asked for.
func (v View[T]) FormatTimes(layout string) View[T] {
	changed := slices.Clone(v)
	for i, c := range v {
		changed[i].Value = func(item T) any {
			if at, ok := c.Value(item).(time.Time); ok {
				return instant{at, layout}
			}
			return c.Value(item)
		}
	}
	return changed
}

// instant is a time with a layout of its own.
type instant struct {
	time.Time
	layout string
}

// in is the text of the time in a zone, nil for UTC; "" for none.
func (i instant) in(zone *time.Location) string {
	switch {
	case i.IsZero():
		return ""
	case zone == nil:
		return i.UTC().Format(i.layout)
	case strings.HasSuffix(i.layout, "Z"):
		return i.Time.In(zone).Format(i.layout + "07:00")
	}
	return i.Time.In(zone).Format(i.layout)
}

// Map returns a view of items that contain a T.
func Map[D, T any](v View[T], inner func(D) T) View[D] {
	mapped := make(View[D], len(v))
	for i, c := range v {
		mapped[i] = Column[D]{
			c.Name,
			c.Heading,
			func(d D) any { return c.Value(inner(d)) },
			c.InList,
			c.MinWidth,
			c.Spare,
		}
	}
	return mapped
}
