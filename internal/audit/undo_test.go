package audit

import (
	"encoding/json"
	"slices"
	"testing"
)

// edit is an entry about a key whose name, and own limit, changed. It took back another entry, or none.
func edit(number int64, before, after string, undoes int64) Entry {
	return Entry{Number: number, Action: "key.edit", Subject: "key_1", Before: json.RawMessage(before), After: json.RawMessage(after), Undoes: undoes}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		entry Entry
		want  []string
	}{
		"members":            {edit(1, `{"id": "k", "per_minute": 5}`, `{"id": "k", "redacted": ["name"]}`, 0), []string{"name", "per_minute"}},
		"nothing":            {edit(1, `{"id": "k"}`, `{"id": "k"}`, 0), nil},
		"no record before":   {edit(1, ``, `{"id": "k"}`, 0), []string{Everything}},
		"an action":          {Entry{Action: "tenant.resume"}, []string{"suspension"}},
		"an unknown action":  {Entry{Action: "tenant.paint"}, []string{Everything}},
		"a void assignment":  {Entry{Action: "plan.void", After: json.RawMessage(`{"assignment": 17}`)}, []string{"void 17"}},
		"a version":          {Entry{Action: "plan.edit", Subject: "plan:pro", Before: json.RawMessage(`{"version": 1, "per_day": 5}`), After: json.RawMessage(`{"version": 2, "per_day": 6}`)}, []string{"version"}},
		"a plan by SQL":      {Entry{Action: "plan.edit", Subject: "plan:pro", Before: json.RawMessage(`{"position": 1}`), After: json.RawMessage(`{"position": 2}`)}, []string{Everything}},
		"a plan of a tenant": {Entry{Action: "plan.unschedule", Subject: "tenant:1"}, []string{"plan"}},
	} {
		if got := test.entry.Changed(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestFindLater(t *testing.T) {
	t.Parallel()
	undo := func(number, of int64) Entry { return edit(number, `{}`, `{"redacted": ["name"]}`, of) }
	name := func(number int64) Entry { return undo(number, 0) }
	limit := func(number int64) Entry { return edit(number, `{"per_minute": 1}`, `{"per_minute": 2}`, 0) }
	said := name(2)
	said.Reason = UndoReason(1, "")
	for what, test := range map[string]struct {
		later                []Entry
		gone                 map[int64]bool
		standsUpon, undoneBy int64
		cancelled            int
	}{
		"nothing":                      {},
		"something else":               {later: []Entry{limit(2)}},
		"the same":                     {later: []Entry{name(2), limit(3)}, standsUpon: 2},
		"twice the same":               {later: []Entry{name(2), name(3)}, standsUpon: 3},
		"undone, says a reason":        {later: []Entry{said}, standsUpon: 2},
		"undone":                       {later: []Entry{undo(2, 1)}, undoneBy: 2},
		"undone, and that undone":      {later: []Entry{undo(2, 1), undo(3, 2)}, cancelled: 1},
		"a later one undone":           {later: []Entry{name(2), undo(3, 2)}, cancelled: 1},
		"a later one undone and again": {later: []Entry{name(2), undo(3, 2), undo(4, 3)}, standsUpon: 2, cancelled: 1},
		"two undone in turn":           {later: []Entry{name(2), name(3), undo(4, 3), undo(5, 2)}, cancelled: 2},
		"taken back together":          {later: []Entry{name(2)}, gone: map[int64]bool{2: true}},
		"an earlier one undone":        {later: []Entry{undo(2, 0)}, standsUpon: 2},
	} {
		e := name(1)
		found := e.FindLater(test.later, test.gone)
		number := func(e *Entry) int64 {
			if e == nil {
				return 0
			}
			return e.Number
		}
		if number(found.StandsUpon) != test.standsUpon || number(found.UndoneBy) != test.undoneBy || len(found.Cancelled) != test.cancelled {
			t.Errorf("%s: stands upon %d, undone by %d, %d cancelled", what, number(found.StandsUpon), number(found.UndoneBy), len(found.Cancelled))
		}
	}
}
