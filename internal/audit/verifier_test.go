package audit_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/audit"
	"petstore.example/internal/test/assert"
)

// trail is five entries and what is known of them.
type trail struct {
	audit.Verifier
	entries []audit.Entry
	head    *audit.Checkpoint
	count   int64
}

func newTrail() *trail {
	t := &trail{entries: make([]audit.Entry, 5), count: 5}
	for i := range t.entries {
		t.entries[i] = audit.Entry{Number: int64(i + 1), Action: "key.issue"}
	}
	t.chain(0)
	return t
}

// chain makes the hashes of the entries from one on, and the head, what they must be.
func (t *trail) chain(from int) {
	for i := from; i < len(t.entries); i++ {
		if i > 0 {
			t.entries[i].Prev = t.entries[i-1].Hash
		}
		t.entries[i].Hash = t.entries[i].Sum()
	}
	t.head = t.at(len(t.entries))
}

func (t *trail) at(number int) *audit.Checkpoint {
	return &audit.Checkpoint{Number: int64(number), Hash: t.entries[number-1].Hash}
}

// remove removes the first two entries, which the last says if it has their hash.
func (t *trail) remove(hash string) {
	t.entries[4].Action, t.entries[4].After = audit.ActionRemove, json.RawMessage(`{"number": 2, "hash": "`+hash+`"}`)
	t.chain(4)
	t.Begin, t.entries, t.count = *t.at(2), t.entries[2:], 3
}

func (t *trail) removeAndSaySo() { t.remove(t.entries[1].Hash.String()) }

func (t *trail) fault() *audit.Fault {
	for i := range t.entries {
		if f := t.Add(&t.entries[i]); f != nil {
			return f
		}
	}
	return t.End(t.head, t.count)
}

// TestVerifier: each thing that can be wrong with a trail is found, where it shows.
func TestVerifier(t *testing.T) {
	t.Parallel()
	other := audit.Hash{1}
	for want, change := range map[string]func(*trail){
		"": func(*trail) {},
		"3 entry 3 was inserted: there are two": func(l *trail) {
			l.entries = slices.Insert(l.entries, 3,
				l.entries[2])
		},
		"0 entry 0 was inserted: the first entry is number 1": func(l *trail) {
			l.entries = slices.Insert(l.entries,
				0, audit.Entry{})
		},
		"3 entry 3 is missing":                 func(l *trail) { l.entries = slices.Delete(l.entries, 2, 3) },
		"3 entries 3 to 4 are missing":         func(l *trail) { l.entries = slices.Delete(l.entries, 2, 4) },
		"3 entry 3 was changed":                func(l *trail) { l.entries[2].Reason = "x" },
		"1 entry 1 was replaced: it refers to": func(l *trail) { l.entries[0].Prev = other; l.chain(0) },
		"4 entry 3 or 4 was replaced: 4 does not hold the hash of 3": func(l *trail) {
			l.entries[2].Reason = "x"
			l.entries[2].Hash = l.entries[2].Sum()
		},
		"3 entry 3 is not that of the checkpoint": func(l *trail) {
			l.Noted = &audit.Checkpoint{Number: 3,
				Hash: other}
		},
		"5 the head is missing: entries after 5":          func(l *trail) { l.head = nil },
		"5 1 entries are too many":                        func(l *trail) { l.count = 6 },
		"5 entry 5, the last, is missing":                 func(l *trail) { l.entries, l.count = l.entries[:4], 4 },
		"4 entries 4 to 5, the last, are missing":         func(l *trail) { l.entries, l.count = l.entries[:3], 3 },
		"5 entry 5 was inserted, or the head was changed": func(l *trail) { l.head = l.at(4) },
		"5 entry 5 was replaced, or the head was changed": func(l *trail) { l.head.Hash = other },
		"6 entries 6 to 7 are missing: the checkpoint":    func(l *trail) { l.Noted = &audit.Checkpoint{Number: 7} },
		"2 the entries up to 2 are missing, and no entry": func(l *trail) { l.remove(other.String()) },
		"3 entry 3 was replaced, or the beginning was":    func(l *trail) { l.removeAndSaySo(); l.Begin.Hash = other },
		"5 2 entries are too many":                        func(l *trail) { l.removeAndSaySo(); l.count = 5 },
		"2 entry 2 was inserted: the first entry is": func(l *trail) {
			second := l.entries[1]
			l.removeAndSaySo()
			l.entries = slices.Insert(l.entries, 0, second)
		},
		"1 entry 1, of the checkpoint, was removed with": func(l *trail) { l.Noted = l.at(1); l.removeAndSaySo() },
		"2 entry 2, the last that was removed, is not that": func(l *trail) {
			l.Noted = &audit.Checkpoint{Number: 2,
				Hash: other}
			l.removeAndSaySo()
		},
	} {
		l := newTrail()
		change(l)
		got := ""
		if f := l.fault(); f != nil {
			got = fmt.Sprint(f.Number, " ", f.Error())
		}
		assert.True(t, strings.HasPrefix(got, want) && (got == "") == (want == ""), got, "want", want)
	}
}

// TestVerifierIsContent: with the first ones, the last, or all of a trail noted or removed, as long
// as the trail says so.
func TestVerifierIsContent(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*trail){
		"noted":                        func(l *trail) { l.Noted = l.at(3) },
		"the last is noted":            func(l *trail) { l.Noted = l.at(5) },
		"removed":                      func(l *trail) { l.removeAndSaySo() },
		"the last removed is noted":    func(l *trail) { l.Noted = l.at(2); l.removeAndSaySo() },
		"the first that is left is it": func(l *trail) { l.Noted = l.at(3); l.removeAndSaySo() },
		"empty":                        func(l *trail) { l.entries, l.head, l.count = nil, &audit.Checkpoint{}, 0 },
	} {
		l := newTrail()
		change(l)
		f := l.fault()
		assert.True(t, f == nil, name, f)
		last, _ := l.Last()
		assert.Equal(t, last, *l.head, name)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]audit.Numbers{
		"": nil, "7": {7}, "7-8": {7, 8}, "7-9": {7, 8, 9}, "7-8,10": {7, 8, 10}, "7,9-10": {7, 9, 10},
		"7,9,11": {7, 9, 11},
	} {
		assert.Equal(t, n.String(), want)
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	for after, want := range map[string][]string{`{"redacted": ["name"]}`: {"name"}, `{}`: nil, ``: nil,
		`{"redacted": ["a"], "redacted": 5}`: nil} {
		assert.DeepEqual(t, (&audit.Entry{After: json.RawMessage(after)}).Redacted(), want, after)
	}
	assert.Equal(t, audit.FindEvent(audit.Events[0].Action), audit.Events[0])
	assert.True(t, audit.FindEvent("key.lend").Final != "", "an unknown event is final")
}
