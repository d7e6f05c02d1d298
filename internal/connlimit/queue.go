package connlimit

import (
	"container/heap"
	"sync/atomic"
)

// queue is a heap of connections by rank. It finds the connection that has been idle longest, the
// unauthenticated ones first. A connection's rank only grows. The rank in its place is updated only
// when it matters, so that using a connection takes no lock.
type queue struct {
	conns []*Conn
	by    int
	// unsent is an upper bound of the bytes that clients of unauthenticated connections have not
	// read. It only grows until they are recounted.
	unsent atomic.Int64
}

// The two queues of a connection.
const (
	byTotal = iota
	byAddress
)

// place is a connection's position in a queue, with the rank that put it there.
type place struct {
	index int
	rank  int64
}

// rank orders connections: the lowest is closed first.
func (c *Conn) rank() int64 {
	rank := c.used.Load()
	if c.authenticated.Load() {
		rank += 1 << 62
	}
	return rank
}

// idleLongest returns the connection with the lowest rank. The queue must not be empty.
func (q *queue) idleLongest() *Conn {
	for {
		c := q.conns[0]
		at, rank := &c.places[q.by], c.rank()
		if at.rank == rank {
			return c
		}
		at.rank = rank
		heap.Fix(q, 0)
	}
}

func (q *queue) push(c *Conn) {
	c.places[q.by].rank = c.rank()
	heap.Push(q, c)
}

func (q *queue) remove(c *Conn) { heap.Remove(q, c.places[q.by].index) }

// Len implements heap.Interface.
func (q *queue) Len() int { return len(q.conns) }

// Less implements heap.Interface.
func (q *queue) Less(i, j int) bool {
	return q.conns[i].places[q.by].rank < q.conns[j].places[q.by].rank
}

// Swap implements heap.Interface.
func (q *queue) Swap(i, j int) {
	q.conns[i], q.conns[j] = q.conns[j], q.conns[i]
	q.conns[i].places[q.by].index, q.conns[j].places[q.by].index = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	c := x.(*Conn)
	c.places[q.by].index = len(q.conns)
	q.conns = append(q.conns, c)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(q.conns) - 1
	c := q.conns[last]
	q.conns[last] = nil
	q.conns = q.conns[:last]
	return c
}
