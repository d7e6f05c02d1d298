package simtest

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	_ "petstore.example/internal/test/sandbox"
)

// modelServer is a server on a modelStore. Its renewals are coroutines: each step of the store is
// one.
type modelServer struct {
	*cluster.Member
	conn *modelConn
	// renewal resumes the renewal that is under way, nil for none. It returns whether the renewal
	// is in the middle of a statement.
	renewal func() (inStatement, ok bool)
	stop    func()
	// inStatement says where it is: the store goes on with a statement although its client is
	// frozen or dead.
	inStatement, frozen, dead bool
	due                       time.Time
	// actedBy is the term that it acted by and has not ended.
	actedBy int64
}

// interleaving is a schedule of servers on one modelStore.
type interleaving struct {
	t       testing.TB
	random  *rand.Rand
	ends    *rand.Rand // decides which OnEnd fails
	now     time.Time
	store   *modelStore
	servers []*modelServer
	started int
	// begun has each term that was in force.
	begun     map[int64]cluster.Term
	violation string
}

func newInterleaving(t testing.TB, seed uint64, m mistake) *interleaving {
	random, noon := rand.New(rand.NewPCG(seed, 1)), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	w := &interleaving{
		t:      t,
		random: random,
		ends:   rand.New(rand.NewPCG(seed, 2)),
		now:    noon,
		begun:  map[int64]cluster.Term{},
	}
	w.store = &modelStore{
		random:  random,
		now:     func() time.Time { return w.now },
		rows:    map[string]*modelConn{},
		joins:   map[*modelConn]bool{},
		mistake: m,
		state:   cluster.State{Database: "db"},
	}
	w.store.log = []modelCommit{{noon, true, w.store.state}}
	for range 2 + random.IntN(3) {
		w.start()
	}
	if seed%50 == 0 {
		for range 38 { // Their leases are longer.
			w.start()
		}
	}
	return w
}

func (w *interleaving) violate(format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
	}
}

func (w *interleaving) start() {
	w.started++
	s := &modelServer{conn: &modelConn{modelStore: w.store}, due: w.now}
	s.Member = cluster.NewMember(s.conn, cluster.Options{
		ServerID: fmt.Sprintf("s%03d", w.started), Clock: func() time.Time { return w.now }, Log: zerolog.Nop(),
	})
	s.SetRedis("r")
	s.OnEnd(func(context.Context) error {
		if _, ok := s.Term(); ok {
			w.violate("a term is in force while OnEnd runs")
		}
		if w.ends.IntN(20) == 0 {
			return errAborted
		}
		s.actedBy = 0
		return nil
	})
	w.servers = append(w.servers, s)
}

// renew begins a renewal.
func (w *interleaving) renew(s *modelServer) {
	next, stop := iter.Pull(func(yield func(bool) bool) {
		s.conn.step = yield
		_ = s.Renew(context.Background())
	})
	s.renewal, s.stop = next, stop
	s.inStatement = false
}

// advance does one step of a server: it goes on with its renewal, or begins the next.
func (w *interleaving) advance(s *modelServer) {
	if s.renewal == nil {
		if !s.frozen && !s.dead && !w.now.Before(s.due) {
			w.renew(s)
		}
		return
	}
	if (s.frozen || s.dead) && !s.inStatement {
		if s.dead || w.random.IntN(4) == 0 {
			s.end() // The store ends a transaction that waits for its client.
		}
		return
	}
	inStatement, ok := s.renewal()
	s.inStatement = inStatement
	if ok && !inStatement && w.random.IntN(30) == 0 {
		ok = false // A reply is lost.
	}
	if !ok {
		s.end()
		s.due = w.now.Add(time.Duration(w.random.Int64N(int64(cluster.RenewEvery))))
	}
}

func (s *modelServer) end() {
	if s.renewal != nil {
		s.stop()
		s.renewal = nil
	}
}

// disturb makes one of the faults happen now and then.
func (w *interleaving) disturb() {
	s := w.servers[w.random.IntN(len(w.servers))]
	switch n := w.random.IntN(400); {
	case n < 4 && w.started < 60:
		w.start()
	case n < 6:
		s.dead = true
	case n < 16:
		s.frozen = !s.frozen
	case n < 24:
		s.SetRedis([]string{"", "r", "r", "other"}[w.random.IntN(4)])
		s.due = w.now
	case n < 26:
		w.store.crash()
	case n == 26:
		w.store.setBack(time.Duration(w.random.Int64N(int64(3 * time.Second))))
	case n == 27 && s.renewal == nil && !s.frozen:
		s.dead = s.Leave(context.Background()) == nil
	}
}

// look checks that no two servers act by different terms, and that none that acted before a term,
// and has not recorded what it did, counts as having acknowledged it.
func (w *interleaving) look() {
	var inForce cluster.Term
	for _, s := range w.servers {
		term, ok := s.Term()
		if !ok || s.dead {
			continue
		}
		if !s.Valid(term.Number) || s.Valid(term.Number-1) {
			w.violate("%+v is in force, but Valid says otherwise", term)
		}
		if inForce.Number != 0 && inForce != term {
			w.violate("%+v and %+v are both in force", inForce, term)
		}
		inForce = term
		if before, ok := w.begun[term.Number]; ok && before != term {
			w.violate("%+v is in force, after %+v was", term, before)
		}
		w.begun[term.Number] = term
		if s.actedBy != 0 && s.actedBy != term.Number {
			w.violate("term %d began before term %d had ended", term.Number, s.actedBy)
		}
		s.actedBy = term.Number
	}
	for _, s := range w.servers {
		listed, ok := w.store.state.Server(s.ID())
		if inForce.Number != 0 && s.actedBy != 0 && s.actedBy < inForce.Number && ok && listed.Acked >= inForce.Number {
			w.violate(
				"%s acted by term %d and did not record; in term %d it counts as if it had",
				s.ID(),
				s.actedBy,
				inForce.Number,
			)
		}
	}
}

func (w *interleaving) run(steps int) {
	for range steps {
		w.now = w.now.Add(time.Duration(w.random.Int64N(int64(16 * time.Millisecond))))
		if w.random.IntN(40) == 0 {
			w.now = w.now.Add(time.Duration(w.random.Int64N(int64(400 * time.Millisecond))))
		}
		w.disturb()
		for _, i := range w.random.Perm(len(w.servers)) {
			if w.random.IntN(2) == 0 {
				w.advance(w.servers[i])
				w.look()
			}
			if w.violation != "" {
				break
			}
		}
		w.servers = slices.DeleteFunc(
			w.servers,
			func(s *modelServer) bool { return s.dead && s.renewal == nil && s.actedBy == 0 },
		)
		if len(w.servers) == 0 {
			w.start()
		}
	}
	for _, s := range w.servers {
		s.end()
	}
}

// TestInterleavedSteps: the steps of renewals, joins and changes of the term come in any order,
// servers leave, freeze and die between them, and the store crashes or is set back. No two servers
// act by different terms, and no server acknowledges one before it has recorded what it did.
func TestInterleavedSteps(t *testing.T) {
	t.Parallel()
	terms, schedules := 0, uint64(60)
	if testing.Short() {
		schedules /= 5
	}
	if os.Getenv("PETSTORE_SOAK") == "1" {
		schedules = 20_000
	}
	for seed := range schedules {
		w := newInterleaving(t, seed, noMistake)
		w.run(1500)
		if w.violation != "" {
			t.Fatalf("seed %d: %s", seed, w.violation)
		}
		terms += w.store.terms
	}
	t.Logf("%d schedules of 1500 steps, %d terms", schedules, terms)
}
