package distributed

import (
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
)

// grantPool is what this server may still admit of one kind of claims in a term in which Postgres decides.
type grantPool struct {
	term int64
	// quota and perKey are the limits that the grant was made under.
	quota  plans.Quota
	perKey int64
	// base is what was used of the grant's windows when it was made, the grant included. left is what is left of it.
	base counter.Baseline
	left int64
	// returns are given back with the next call.
	returns []counter.Return
	// call is the one under way, nil for none. waiting counts who waits for it.
	call    *grantCall
	waiting int64
}

// grantCall is a call for a grant.
type grantCall struct {
	done chan struct{}
	err  error
}

// enter moves the pool to the term and the claim's limits, and reports whether they are others. What is left of another term was returned
// at that term's end.
func (p *grantPool) enter(term int64, c *limits.Claim) (changed bool) {
	if p.isFor(term, c) {
		return false
	}
	if p.term != term {
		p.returns, p.left, p.waiting = nil, 0, 0
	}
	p.giveBack(p.base.Minute, p.base.Day, p.left)
	p.term, p.quota, p.perKey, p.left = term, c.Quota, c.KeyPerMinute, 0
	return true
}

func (p *grantPool) isFor(term int64, c *limits.Claim) bool {
	return p.term == term && p.quota == c.Quota && p.perKey == c.KeyPerMinute
}

// spend takes count from the pool, if anything is left in windows that are not before these. It returns what was used before.
func (p *grantPool) spend(minute, day, count int64) (u limits.Used, ok bool) {
	if p.left <= 0 || minute > p.base.Minute || day > p.base.Day {
		return u, false
	}
	u = p.base.Used().Plus(-p.left)
	p.left -= count
	return u, true
}

// refund puts one request back.
func (p *grantPool) refund(minute, day int64) {
	if p.base.Minute == minute && p.base.Day == day && p.call == nil {
		p.left = min(p.left+1, p.base.MinuteUsed, p.base.DayUsed)
		return
	}
	p.giveBack(minute, day, 1)
}

func (p *grantPool) giveBack(minute, day, count int64) {
	if count <= 0 {
		return
	}
	if n := len(p.returns); n > 0 && p.returns[n-1].Minute == minute && p.returns[n-1].Day == day {
		p.returns[n-1].Count += count
		return
	}
	p.returns = append(p.returns, counter.Return{Minute: minute, Day: day, Count: count})
}

// close empties the pool at the end of a term. It returns what is to be given back.
func (p *grantPool) close(term int64) []counter.Return {
	if p.term != term {
		return nil
	}
	p.giveBack(p.base.Minute, p.base.Day, p.left)
	returns := p.returns
	*p = grantPool{call: p.call}
	return returns
}
