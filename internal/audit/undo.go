package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// UndoReason is the reason of the change that takes back the entry with that number. It is for readers: Entry.Undoes is what counts. own is what the caller gives as a reason, "" for none.
func UndoReason(number int64, own string) string {
	text := "undo of " + strconv.FormatInt(number, 10)
	if own != "" {
		text += ": " + own
	}
	return text
}

// Everything stands for all that an entry can change of its subject.
const Everything = "*"

// changedBy is what the actions change that change always the same.
var changedBy = map[string][]string{
	"tenant.suspend": {"suspension"}, "tenant.resume": {"suspension"},
	"plan.assign": {"plan"}, "plan.boost": {"plan"}, "plan.move": {"plan"}, "plan.unschedule": {"plan"},
	"key.issue": {"revoked_at", "expires_at"}, "key.rotate": {"expires_at"}, "key.revoke": {"revoked_at"}, "key.unrevoke": {"revoked_at"},
	"ban.place": {"ban"}, "ban.lift": {"ban"},
	// What follows can't be taken back, and is in the way of nothing.
	"tenant.create": {"creation"}, "plan.create": {"creation"}, "limits.reset": {"limits"}, "retention.set": {"retention"}, "audit.remove": {"removal"},
	"usage.close": {"month"}, "usage.events": {"events"},
}

// Changed returns what the entry changed of its subject, sorted: two entries with the same subject changed the same thing if they have a
// value in common, or one of them is Everything.
func (e *Entry) Changed() []string {
	switch {
	case e.Action == "plan.void" || e.Action == "plan.unvoid":
		return []string{"void " + e.member("assignment")}
	case strings.HasPrefix(e.Subject, "plan:") && e.Action != "plan.create":
		return e.changedMembers(map[string]string{
			"version": "version", "generation": "version", "per_minute": "version", "per_day": "version", "valid_from": "version",
			"title": "title", "price": "price", "retires_at": "retirement",
		})
	case e.Action == "tenant.edit" || e.Action == "key.edit":
		return e.changedMembers(nil)
	}
	if same, ok := changedBy[e.Action]; ok {
		return same
	}
	return []string{Everything}
}

// changedMembers returns the members that differ before and after the change, and those that are redacted. names says what they are
// changes of; nil for the members themselves. A member that is not in names is Everything.
func (e *Entry) changedMembers(names map[string]string) []string {
	var before, after map[string]json.RawMessage
	if json.Unmarshal(e.Before, &before) != nil || json.Unmarshal(e.After, &after) != nil {
		return []string{Everything}
	}
	changed := e.Redacted()
	for _, records := range []map[string]json.RawMessage{before, after} {
		for member := range records {
			if member != "redacted" && !bytes.Equal(before[member], after[member]) {
				changed = append(changed, member)
			}
		}
	}
	for i, member := range changed {
		if names == nil {
			continue
		}
		name, ok := names[member]
		if !ok {
			return []string{Everything}
		}
		changed[i] = name
	}
	slices.Sort(changed)
	return slices.Compact(changed)
}

// Redacted returns the members that the change set or changed and that the entry does not hold.
func (e *Entry) Redacted() []string {
	var after struct {
		Redacted []string `json:"redacted"`
	}
	if json.Unmarshal(e.After, &after) != nil {
		return nil
	}
	return after.Redacted
}

// member returns a member of the record after the change as text, "" for none.
func (e *Entry) member(name string) string {
	var after map[string]json.RawMessage
	if json.Unmarshal(e.After, &after) != nil {
		return ""
	}
	return string(after[name])
}

func (e *Entry) changedSame(other *Entry) bool {
	mine, others := e.Changed(), other.Changed()
	return slices.ContainsFunc(mine, func(item string) bool {
		return item == Everything || slices.Contains(others, item) || slices.Contains(others, Everything)
	})
}

// Later is what later entries did to the thing that an entry changed.
type Later struct {
	// StandsUpon is the last entry that changed the same thing and is in effect, nil for none: it must be taken back before.
	StandsUpon *Entry
	// UndoneBy is the entry that took this one back, nil for none.
	UndoneBy *Entry
	// Cancelled are later changes of the same thing that were taken back, each with the entry that did it.
	Cancelled []Undone
}

// Undone is a change and the entry that took it back.
type Undone struct{ Change, By *Entry }

// FindLater looks at the entries with the same subject that have greater numbers, in their order. What a later entry took back is as if
// it had never been; so are those in gone, which are taken back with this one.
func (e *Entry) FindLater(entries []Entry, gone map[int64]bool) Later {
	var found Later
	byNumber := map[int64]*Entry{}
	cancelled := map[int64]bool{}
	for i := range entries {
		byNumber[entries[i].Number] = &entries[i]
	}
	for i := len(entries) - 1; i >= 0; i-- {
		other := &entries[i]
		undoes := other.Undoes
		switch {
		case other.Number <= e.Number || cancelled[other.Number] || gone[other.Number] || !e.changedSame(other):
		case undoes == e.Number:
			found.UndoneBy = other
			return found
		case byNumber[undoes] != nil && undoes > e.Number:
			cancelled[undoes] = true
			found.Cancelled = append(found.Cancelled, Undone{byNumber[undoes], other})
		case found.StandsUpon == nil:
			found.StandsUpon = other
		}
	}
	return found
}
