package simtest

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"petstore.example/internal/cluster"
)

// modelStore is the store's protocol, step by step, on a model of Postgres: of counters.Terms,
// renew_server and lock_cluster. Before each step others may do theirs.
type modelStore struct {
	random *rand.Rand
	now    func() time.Time
	// state is what is committed. log has the state after every commit, the oldest first.
	state cluster.State
	log   []modelCommit
	// rows are locked by heartbeats, and by changes of the term, which lock the term too; joins
	// share that lock.
	rows    map[string]*modelConn
	changes *modelConn
	joins   map[*modelConn]bool
	// boots counts crashes, terms the terms that were made.
	boots, terms int
	mistake      mistake
}

// mistake is one that is made on purpose.
type mistake int

const (
	noMistake mistake = iota
	// readBeforeLock: a renewal reads the term before it has its row.
	readBeforeLock
	// silentUnlocked: a change does not lock the rows of silent servers.
	silentUnlocked
	// joinUnlocked: a join does not lock the term.
	joinUnlocked
	// neverOnDisk: no renewal waits for the disk.
	neverOnDisk
	// setBackUnseen: nobody looks whether the store was set back.
	setBackUnseen
)

// modelCommit is a commit. The disk has every one that is onDisk, and those before it.
type modelCommit struct {
	at     time.Time
	onDisk bool
	state  cluster.State
}

var errAborted = errors.New("the connection ended")

// modelConn is one server's connection.
type modelConn struct {
	*modelStore
	// step lets others do their steps. It returns false when the transaction is aborted. In the
	// middle of a statement the store goes on without its client; between two statements it waits
	// for it.
	step func(inStatement bool) bool
}

func (c *modelConn) pause(inStatement bool) error {
	boots := c.boots
	if !c.step(inStatement) || c.boots != boots {
		return errAborted
	}
	return nil
}

// release ends a transaction.
func (c *modelConn) release() {
	maps.DeleteFunc(c.rows, func(_ string, by *modelConn) bool { return by == c })
	if c.changes == c {
		c.changes = nil
	}
	delete(c.joins, c)
}

func (c *modelConn) commit(s cluster.State, onDisk bool) {
	if s.Term.Number != c.state.Term.Number {
		c.terms++
	}
	s.Servers = slices.Clone(s.Servers)
	c.state = s
	c.log = append(c.log, modelCommit{c.now(), onDisk, s})
}

// read is read_cluster.
func (c *modelConn) read() cluster.State {
	s := c.state
	s.Servers, s.Now = slices.Clone(s.Servers), c.now()
	if c.mistake == setBackUnseen {
		s.Origin, s.Database = "", ""
	}
	return s
}

func (c *modelConn) Renew(_ context.Context, hb cluster.Heartbeat) (cluster.State, error) {
	defer c.release()
	if c.mistake == setBackUnseen {
		hb.Highest, hb.Database = 0, ""
	}
	if err := c.pause(true); err != nil { // The call is on its way.
		return cluster.State{}, err
	}
	before, renewed, err := c.renewServer(&hb)
	if err != nil {
		return before, err
	}
	c.release()
	if err := c.pause(false); err != nil { // The reply is on its way.
		return before, err
	}
	next := cluster.Next(before, hb, before.Now)
	if renewed && !cluster.Changed(before, next, hb.ServerID) {
		return next, nil
	}
	next, err = c.change(&hb, before, renewed)
	if err != nil {
		return next, err
	}
	c.release()
	return next, c.pause(false)
}

// renewServer is renew_server. It returns the cluster with the server's row as it was before.
func (c *modelConn) renewServer(hb *cluster.Heartbeat) (before cluster.State, renewed bool, err error) {
	if c.mistake == readBeforeLock {
		before = c.read()
		if err := c.pause(true); err != nil {
			return before, false, err
		}
	}
	for c.rows[hb.ServerID] != nil {
		if err := c.pause(true); err != nil {
			return before, false, err
		}
	}
	was, found := c.state.Server(hb.ServerID)
	own := cluster.Server{ID: hb.ServerID, Seen: c.now(), Redis: hb.Redis, Acked: hb.Acked, Lease: hb.Lease}
	onDisk := true
	switch {
	case found:
		c.rows[hb.ServerID] = c
		onDisk = hb.Lease > was.Lease || own.Seen.Sub(was.Seen) > cluster.RenewLate(was.Lease)
		renewed = true
	default:
		for c.changes != nil && c.mistake != joinUnlocked {
			if err := c.pause(true); err != nil {
				return before, false, err
			}
		}
		c.joins[c], c.rows[hb.ServerID] = true, c
		renewed = true
	}
	if err := c.pause(true); err != nil {
		return before, false, err
	}
	if c.mistake != readBeforeLock {
		before = c.read()
	}
	if before = before.Without(hb.ServerID); found {
		before = before.With(was)
	}
	if err := c.pause(true); err != nil {
		return before, false, err
	}
	if renewed {
		c.commit(c.state.With(own), onDisk && c.mistake != neverOnDisk)
	}
	return before, renewed, nil
}

// change is Terms.change: lock_cluster, Next and saveCluster.
func (c *modelConn) change(hb *cluster.Heartbeat, before cluster.State, renewed bool) (cluster.State, error) {
	for c.changes != nil || len(c.joins) > 0 && c.mistake != joinUnlocked {
		if renewed {
			next := before.With(
				cluster.Server{ID: hb.ServerID, Seen: before.Now, Redis: hb.Redis, Acked: hb.Acked, Lease: hb.Lease},
			)
			next.Busy = true
			return next, nil
		}
		if err := c.pause(true); err != nil {
			return before, err
		}
	}
	c.changes = c
	locked := map[string]bool{}
	for _, e := range c.state.Servers {
		if e.Fenced(c.now()) && (c.rows[e.ID] == nil || c.mistake == silentUnlocked) {
			locked[e.ID] = true
			if c.mistake != silentUnlocked {
				c.rows[e.ID] = c
			}
		}
	}
	if err := c.pause(true); err != nil {
		return before, err
	}
	now := c.read()
	for i, e := range now.Servers {
		if e.ID != hb.ServerID && e.Fenced(now.Now) && !locked[e.ID] {
			now.Servers[i].Seen = now.Now
		}
	}
	if own, ok := before.Server(hb.ServerID); ok {
		now = now.With(own)
	} else {
		now = now.Without(hb.ServerID)
	}
	next := cluster.Next(now, *hb, now.Now)
	if err := c.pause(false); err != nil {
		return before, err
	}
	c.save(now, next, hb.ServerID, renewed)
	return next, nil
}

// save is saveCluster: a server that has sent a heartbeat since it was read stays as it is.
func (c *modelConn) save(before, next cluster.State, sender string, renewed bool) {
	s := next
	s.Servers = slices.Clone(c.state.Servers)
	s.Database = c.state.Database
	if s.Origin != "" || c.mistake == setBackUnseen {
		s.Origin = c.state.Database
	}
	for _, e := range before.Servers {
		there, ok := s.Server(e.ID)
		if _, stays := next.Server(e.ID); !stays && ok && there.Seen.Equal(e.Seen) {
			s = s.Without(e.ID)
		}
	}
	for _, e := range next.Servers {
		was, known := before.Server(e.ID)
		there, ok := s.Server(e.ID)
		if e.ID == sender && renewed || known && was == e || ok != known || ok && !there.Seen.Equal(was.Seen) {
			continue
		}
		s = s.With(e)
	}
	c.commit(s, true)
}

func (c *modelConn) Leave(_ context.Context, id string) error {
	if c.rows[id] != nil {
		return errAborted
	}
	c.commit(c.state.Without(id), true)
	return nil
}

// crash takes back what was not on the disk: the disk has what was committed CrashLoss ago.
func (s *modelStore) crash() {
	least := 0
	for i, k := range s.log {
		if k.onDisk || s.now().Sub(k.at) > cluster.CrashLoss {
			least = i
		}
	}
	s.backTo(least + s.random.IntN(len(s.log)-least))
}

// backTo ends all connections, and takes back the commits after that one.
func (s *modelStore) backTo(commit int) {
	s.boots++
	name := s.state.Database
	s.state, s.log = s.log[commit].state, s.log[:commit+1]
	s.state.Database = name
	s.log[commit].onDisk = true
	s.rows, s.joins, s.changes = map[string]*modelConn{}, map[*modelConn]bool{}, nil
}

// setBack promotes a standby that lacked the commits of up to that time.
func (s *modelStore) setBack(by time.Duration) {
	to := s.now().Add(-by)
	i, _ := slices.BinarySearchFunc(s.log, to, func(k modelCommit, at time.Time) int { return k.at.Compare(at) })
	i = min(max(0, i-1), len(s.log)-1)
	if s.log[i].state.Origin == "" {
		return // It is from before the first term.
	}
	s.backTo(i)
	s.state.Database += "+"
}
