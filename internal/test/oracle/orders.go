package oracle

import (
	"net/http"
	"slices"
)

// checkOrders checks that each animal was ordered once: by the responses, and by the walk through
// all orders at the end.
func (j *judge) checkOrders() {
	attempts := map[int64][]Request{} // by animal
	placed := map[int64]Request{}     // by animal; the first acknowledgement
	for _, q := range j.requests {
		if q.PetID == 0 {
			continue
		}
		attempts[q.PetID] = append(attempts[q.PetID], q)
		if q.Status != http.StatusCreated || len(q.Items) != 1 {
			continue
		}
		j.report.Orders++
		id := q.Items[0].ID
		if of := q.Items[0].PetID; of != q.PetID {
			j.broken(Orders, q.Start, q.End, "order %d for animal %d is for animal %d", id, q.PetID, of)
		}
		first, again := placed[q.PetID]
		lost := again && j.setBack(first.Start, first.End)
		if again && !lost && first.Items[0].ID != id {
			j.broken(Orders, first.Start, q.End, "animal %d has the orders %d and %d", q.PetID, first.Items[0].ID, id)
		}
		if !again || lost {
			placed[q.PetID] = q
		}
	}
	if len(attempts) > 0 {
		j.checkOrderWalk(attempts, placed)
	}
}

// checkOrderWalk checks the pages of the walk at the end.
func (j *judge) checkOrderWalk(attempts map[int64][]Request, placed map[int64]Request) {
	there, whole := map[int64][]int64{}, false // orders by animal
	for _, q := range j.requests {
		if q.Walk && q.Orders && q.Status == http.StatusOK {
			for _, it := range q.Items {
				there[it.PetID] = append(there[it.PetID], it.ID)
			}
			whole = q.Next == ""
		}
	}
	if !whole {
		last := j.requests[len(j.requests)-1]
		j.broken(Orders, last.Start, last.End, "no walk shows all orders")
		return
	}
	for petID, tries := range attempts {
		first, last, orders := tries[0], tries[len(tries)-1], there[petID]
		if len(orders) > 1 {
			j.broken(Orders, first.Start, last.End, "animal %d has the orders %v", petID, orders)
		}
		if len(orders) > 0 && !slices.ContainsFunc(tries, func(q Request) bool { return !j.refused(q) }) {
			j.broken(Orders, first.Start, last.End, "animal %d was refused with %d, and is ordered", petID, last.Status)
		}
		q, ok := placed[petID]
		if ok && !slices.Contains(orders, q.Items[0].ID) && !j.setBack(q.Start, q.End) {
			j.broken(Orders, q.Start, q.End, "order %d was acknowledged, and is not there", q.Items[0].ID)
		}
	}
}

// checkAnswers checks that all successful responses to one idempotency key have one ID and one
// ETag. The ETag depends on the whole body.
func (j *judge) checkAnswers() {
	answers := map[string]Request{} // the first of each key
	for _, q := range j.requests {
		if q.IdempotencyKey == "" || q.Status != http.StatusCreated || len(q.Items) != 1 {
			continue
		}
		first, again := answers[q.IdempotencyKey]
		if !again || j.setBack(first.Start, first.End) {
			answers[q.IdempotencyKey] = q
			continue
		}
		j.report.Answers++
		if first.Items[0] != q.Items[0] || first.ETag != q.ETag {
			j.broken(Answers, first.Start, q.End, "%q has the answers %+v, %s, and %+v, %s",
				q.IdempotencyKey, first.Items[0], first.ETag, q.Items[0], q.ETag)
		}
	}
}
