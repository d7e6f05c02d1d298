package plans

// shown is the least that this server has said to remain of a tenant's windows in a term in which Postgres decides. Its keys
// have grants of their own, and other servers give back what they do not need: by what was used when each was taken,
// Remaining would go up and down. It only falls, but by a refund or a change of the limit.
type shown struct {
	term        int64
	minute, day shownWindow
}

type shownWindow struct{ number, limit, remaining int64 }

// show lowers what a decision over claims of that kind says to what was said before.
func (a *account) show(term int64, st *state, d *Decision) {
	if a.shown.term != term {
		for _, of := range a.keys {
			of.shown = shownWindow{}
		}
	}
	a.shown.lower(term, d)
	if d.Key.Limit > 0 {
		st.shown.lower(&d.Key)
	}
}

// lower lowers what a decision says.
func (s *shown) lower(term int64, d *Decision) {
	if s.term != term {
		*s = shown{term: term}
	}
	s.minute.lower(&d.Minute)
	s.day.lower(&d.Day)
}

// raise is for the refund of a decision.
func (s *shown) raise(d *Decision) {
	s.minute.raise(&d.Minute)
	s.day.raise(&d.Day)
}

func (s *shownWindow) lower(w *Window) {
	if s.number != w.Number || s.limit != w.Limit {
		*s = shownWindow{w.Number, w.Limit, w.Remaining}
	}
	s.remaining = min(s.remaining, w.Remaining)
	w.Remaining = s.remaining
}

func (s *shownWindow) raise(w *Window) {
	if s.number == w.Number {
		s.remaining = min(s.remaining+1, s.limit)
	}
}
