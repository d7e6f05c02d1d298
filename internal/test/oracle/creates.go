package oracle

import (
	"net/http"
	"slices"
	"time"
)

// checkCreates compares the created animals with the walk through all animals at the end, and with
// all earlier lists.
func (j *judge) checkCreates() {
	attempts := map[string][]Request{} // by name
	created := map[int64]Request{}     // by ID; the first acknowledgement
	for _, q := range j.requests {
		if q.Method != http.MethodPost || q.PetID != 0 {
			continue
		}
		attempts[q.Name] = append(attempts[q.Name], q)
		if q.Status != http.StatusCreated || len(q.Items) != 1 {
			continue
		}
		j.report.Creates++
		id := q.Items[0].ID
		first, again := created[id]
		lost := again && j.setBack(first.Start, first.End)
		if again && first.Name != q.Name && !lost {
			j.broken(Creates, q.Start, q.End, "animal %d is %q and %q", id, first.Name, q.Name)
		}
		if !again || lost || q.End.Before(first.End) {
			created[id] = q
		}
	}
	j.checkWalk(attempts, created)
	for _, q := range j.requests {
		if q.shows() {
			j.checkShown(q, attempts, created)
		}
	}
}

// checkWalk checks the pages of the walk at the end.
func (j *judge) checkWalk(attempts map[string][]Request, created map[int64]Request) {
	rows, names, whole := map[Item]int{}, map[string]int{}, false
	for _, q := range j.requests {
		if !q.Walk || q.Orders || q.Status != http.StatusOK {
			continue
		}
		for _, it := range q.Items {
			rows[it]++
			names[it.Name]++
		}
		whole = q.Next == ""
	}
	if !whole {
		if len(created) > 0 {
			last := j.requests[len(j.requests)-1]
			j.broken(
				Creates,
				last.Start,
				last.End,
				"%d creates were acknowledged, and no walk shows all animals",
				len(created),
			)
		}
		return
	}
	for id, q := range created {
		if n := rows[Item{ID: id, Name: q.Name}]; n != 1 && !j.setBack(q.Start, q.End) {
			j.broken(Creates, q.Start, q.End, "animal %d, %q, was acknowledged, and is there %d times", id, q.Name, n)
		}
	}
	for name, n := range names {
		tries := attempts[name]
		if len(tries) == 0 {
			continue
		}
		first, last := tries[0], tries[len(tries)-1]
		if n > 1 {
			j.broken(Creates, first.Start, last.End, "%q was created once, and is there %d times", name, n)
		}
		if !slices.ContainsFunc(tries, func(q Request) bool { return !j.refused(q) }) {
			j.broken(Creates, first.Start, last.End, "%q was refused with %d, and is there", name, last.Status)
		}
	}
}

// checkShown checks that a list shows no other tenant's animals, and all requested animals that
// were acknowledged before the request.
func (j *judge) checkShown(q Request, attempts map[string][]Request, created map[int64]Request) {
	shown := map[int64]bool{}
	for _, it := range q.Items {
		shown[it.ID] = true
		_, register := j.tenant.Registers[it.ID]
		if tries := attempts[it.Name]; !register && (len(tries) == 0 || tries[0].Start.After(q.End)) {
			j.broken(
				Lists,
				q.Start,
				q.End,
				"a list shows %q, animal %d, which the tenant has not created",
				it.Name,
				it.ID,
			)
		}
	}
	want := q.Asked
	if want == nil && q.Next == "" && !q.Walk {
		for id := range created {
			want = append(want, id)
		}
	}
	j.report.Lists++
	for _, id := range want {
		made, ok := created[id]
		if ok && made.End.Before(q.Start) && !shown[id] && !j.setBack(made.Start, made.End) {
			j.broken(
				Lists,
				q.Start,
				q.End,
				"a list of server %d lacks animal %d, acknowledged %v before",
				q.Server,
				id,
				q.Start.Sub(made.End),
			)
		}
	}
}

// setBack reports whether changes between two instants may have been lost because the database was
// set back.
func (j *judge) setBack(from, to time.Time) bool {
	return slices.ContainsFunc(
		j.faults,
		func(f Fault) bool { return !f.SetBack.IsZero() && f.SetBack.Before(to) && f.End.After(from) },
	)
}
