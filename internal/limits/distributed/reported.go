package distributed

import "petstore.example/internal/limits"

// reportedRemaining is the lowest Remaining that this server has reported for a tenant's windows in
// a term in which Postgres decides. Keys have grants of their own, and other servers return what
// they do not need, so successive grants would make Remaining go up and down. It only falls, except
// after a refund or a change of the limit.
type reportedRemaining struct {
	term               int64
	minute, day, month reportedWindow
}

type reportedWindow struct{ number, limit, remaining int64 }

// lower lowers what a decision reports.
func (r *reportedRemaining) lower(term int64, d *limits.Decision) {
	if r.term != term {
		*r = reportedRemaining{term: term}
	}
	r.minute.lower(&d.Minute)
	r.day.lower(&d.Day)
	if d.Month.Limit > 0 {
		r.month.lower(&d.Month)
	}
}

// restore raises it by one when a decision is refunded.
func (r *reportedRemaining) restore(d *limits.Decision) {
	r.minute.restore(&d.Minute)
	r.day.restore(&d.Day)
	r.month.restore(&d.Month)
}

func (r *reportedWindow) lower(w *limits.Window) {
	if r.number != w.Number || r.limit != w.Limit {
		*r = reportedWindow{w.Number, w.Limit, w.Remaining}
	}
	r.remaining = min(r.remaining, w.Remaining)
	w.Remaining = r.remaining
}

func (r *reportedWindow) restore(w *limits.Window) {
	if r.number == w.Number {
		r.remaining = min(r.remaining+1, r.limit)
	}
}
