package oracle

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// access is a read of a register or a write to it.
type access struct {
	write bool
	value string
	// expected is the value that a write with If-Match replaces, "" without it.
	expected string
	// sure is false for a write that may not have happened.
	sure      bool
	call, end int64 // end is math.MaxInt64 for a write that may happen at any time
	server    int
}

// register is the sequential specification of a name that is read and written. "" is the unknown
// state after the database was set back: the first read decides it.
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		a := input.(access)
		return a.write && a.expected == "" || state == "" || state == a.value && !a.write ||
			state == a.expected && a.write, a.value
	},
}

// checkRegisters checks that the names of the animals that existed before the run are linearizable
// registers (Herlihy and Wing) in each period without a set-back of the database.
func (j *judge) checkRegisters() {
	cuts := slices.DeleteFunc(slices.Clone(j.faults), func(f Fault) bool { return f.SetBack.IsZero() })
	for id, name := range j.tenant.Registers {
		began := j.requests[0].Start.UnixNano()
		writes := map[string]access{name: {write: true, value: name, sure: true, call: began - 2, end: began - 1}}
		until := time.Unix(1<<40, 0)
		if len(cuts) > 0 {
			until = cuts[0].SetBack
		}
		j.checkRegister(id, writes, time.Time{}, until)
		for i, f := range cuts {
			until = time.Unix(1<<40, 0)
			if i+1 < len(cuts) {
				until = cuts[i+1].SetBack
			}
			j.checkRegister(id, map[string]access{}, f.End, until)
		}
	}
}

// checkRegister checks the accesses between two instants. A change that may happen late belongs to
// all periods from its start on.
func (j *judge) checkRegister(id int64, writes map[string]access, from, until time.Time) {
	reads := map[string][]access{}
	for _, q := range j.requests {
		within := q.Start.After(from) && q.End.Before(until)
		switch {
		case q.Method == http.MethodPatch && q.ID == id && !j.refused(q) && q.Start.Before(until):
			if made := q.Status == http.StatusOK; !made ||
				q.End.After(from) { // A write under way at the begin or the end of a period may have been lost.
				writes[q.Name] = access{
					true,
					q.Name,
					q.Expected,
					made && within,
					q.Start.UnixNano(),
					settled(q, j.Options, j.faults),
					q.Server,
				}
			}
		case within && q.shows() && (slices.Contains(q.Asked, id) || q.Asked == nil):
			i := slices.IndexFunc(q.Items, func(it Item) bool { return it.ID == id })
			if i < 0 {
				if q.Next == "" || id <= q.Items[len(q.Items)-1].ID {
					j.broken(Lists, q.Start, q.End, "a list lacks animal %d, which nobody deletes", id)
				}
				continue
			}
			name := q.Items[i].Name
			reads[name] = append(
				reads[name],
				access{false, name, "", true, q.Start.UnixNano(), q.End.UnixNano(), q.Server},
			)
		}
	}
	j.checkHistory(id, writes, reads, !from.IsZero())
}

// settled returns the time by which a change has happened or never will.
func settled(q Request, o Options, faults []Fault) int64 {
	if q.Status == http.StatusOK ||
		o.RefusedNeverHappens && q.Status == http.StatusServiceUnavailable &&
			o.excepted(Settled, q.Start, q.End, faults) == "" {
		return q.End.UnixNano()
	}
	return math.MaxInt64
}

// checkHistory lets Porcupine look for an order of the writes and reads. Of all reads of a value it
// includes only the one that ended first and the one that began last: each value is written once,
// so an order of these is an order of all. A write that may not have happened is assumed to end
// before the first read that shows it; if no read shows it, it is left out.
func (j *judge) checkHistory(id int64, writes map[string]access, reads map[string][]access, setBack bool) {
	var history []porcupine.Operation
	add := func(a access) {
		history = append(history, porcupine.Operation{Input: a, Call: a.call, Return: a.end})
	}
	for value, all := range reads {
		early := slices.MinFunc(all, func(a, b access) int { return cmp.Compare(a.end, b.end) })
		late := slices.MaxFunc(all, func(a, b access) int { return cmp.Compare(a.call, b.call) })
		w, ok := writes[value]
		if !ok && !setBack {
			j.broken(
				Lists,
				time.Unix(0, early.call),
				time.Unix(0, early.end),
				"server %d shows animal %d as %q, which was refused or never sent",
				early.server,
				id,
				value,
			)
			continue
		}
		if ok && !w.sure {
			w.end = max(w.call, min(w.end, early.end))
			writes[value] = w
		}
		add(early)
		add(late)
	}
	for value, w := range writes {
		if w.sure || reads[value] != nil {
			add(w)
		}
	}
	if result, info := porcupine.CheckOperationsVerbose(register, history, time.Minute); result != porcupine.Ok {
		from, to, what := explain(history, info)
		j.broken(Lists, from, to, "the name of animal %d is not linearizable (%s): %s", id, result, what)
	}
}

// explain names the first accesses that have no place in the longest order that Porcupine found.
func explain(history []porcupine.Operation, info porcupine.LinearizationInfo) (from, to time.Time, what string) {
	var longest []int
	for _, order := range info.PartialLinearizations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	var left []access
	for id, op := range history {
		if !slices.Contains(longest, id) {
			left = append(left, op.Input.(access))
		}
	}
	slices.SortFunc(left, func(a, b access) int { return cmp.Compare(a.end, b.end) })
	if len(left) == 0 {
		return from, to, "no order was found in time"
	}
	from, to = time.Unix(0, left[0].call), time.Unix(0, left[0].end)
	last := "nothing"
	if len(longest) > 0 {
		last = fmt.Sprint(history[longest[len(longest)-1]].Input.(access))
	}
	return from, to, fmt.Sprintf("%v has no place after %s", left[0], last)
}

// String says what was done, when, and on which server.
func (a access) String() string {
	verb := "read"
	if a.write {
		verb = "write"
	}
	return fmt.Sprintf("%s of %q on server %d from %s to %s", verb, a.value, a.server,
		time.Unix(0, a.call).UTC().Format("15:04:05.000"), time.Unix(0, a.end).UTC().Format("15:04:05.000"))
}
