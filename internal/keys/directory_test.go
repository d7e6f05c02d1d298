package keys

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/plans"
)

// callerTable is a CallerStore in memory that can be away, and held in the middle of a look-up.
type callerTable struct {
	mu      sync.Mutex
	callers map[Digest]Caller
	away    bool
	// held, when set, is waited for after the answer was found and before it is given.
	held  chan struct{}
	asked atomic.Int64
}

func (c *callerTable) Caller(ctx context.Context, d Digest, _ time.Time) (Caller, error) {
	c.asked.Add(1)
	c.mu.Lock()
	caller, ok := c.callers[d]
	away, held := c.away, c.held
	c.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return Caller{}, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
		}
	}
	switch {
	case away:
		return Caller{}, fmt.Errorf("dial: %w", ErrUnavailable)
	case !ok:
		return Caller{}, ErrKeyNotFound
	}
	return caller, nil
}

func (c *callerTable) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

func newToken(t *testing.T, env Environment) Token {
	t.Helper()
	token, err := NewToken(env)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func tenant(id int64) *plans.Tenant {
	return &plans.Tenant{ID: id, Name: fmt.Sprint("tenant-", id), Plan: plans.Free, Quota: plans.Quota{PerMinute: 60, PerDay: 1000}}
}

// directoryTest is a directory that hears changes, over a table with one good key of tenant 1.
type directoryTest struct {
	*Directory
	table *callerTable
	token Token
}

func newDirectoryTest(t *testing.T) directoryTest {
	t.Helper()
	token := newToken(t, Live)
	table := &callerTable{callers: map[Digest]Caller{token.Digest(): {KeyID: "key_1", Environment: Live, Tenant: tenant(1)}}}
	d := NewDirectory(table, Live, time.Now)
	d.FeedRestored()
	return directoryTest{d, table, token}
}

func (d directoryTest) want(t *testing.T, want error) *Caller {
	t.Helper()
	c, err := d.Lookup(t.Context(), d.token)
	if !errors.Is(err, want) {
		t.Fatalf("Lookup: %v, want %v", err, want)
	}
	return c
}

func (d directoryTest) set(change func(*Caller)) {
	d.table.change(func() {
		c := d.table.callers[d.token.Digest()]
		change(&c)
		d.table.callers[d.token.Digest()] = c
	})
}

func TestLookupAsksOnce(t *testing.T) {
	d := newDirectoryTest(t)
	for range 3 {
		if c := d.want(t, nil); c.KeyID != "key_1" {
			t.Fatalf("caller %q", c.KeyID)
		}
	}
	if n := d.table.asked.Load(); n != 1 {
		t.Errorf("the store was asked %d times, want once", n)
	}
}

func TestLookupRefuses(t *testing.T) {
	for name, change := range map[string]func(*Caller){
		"revoked":   func(c *Caller) { c.Revoked = true },
		"expired":   func(c *Caller) { c.ExpiresAt = time.Now() },
		"suspended": func(c *Caller) { c.Tenant = tenant(1); c.Tenant.SuspendedAt = time.Now() },
		"other":     func(c *Caller) { c.Environment = Test },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDirectoryTest(t)
			d.set(change)
			d.want(t, ErrInvalidKey)
			d.want(t, ErrInvalidKey)
			if n := d.table.asked.Load(); n != 1 {
				t.Errorf("the store was asked %d times, want once", n)
			}
		})
	}
}

func TestLookupOtherDeploymentIsNotLookedUp(t *testing.T) {
	d := newDirectoryTest(t)
	if _, err := d.Lookup(t.Context(), newToken(t, Test)); !errors.Is(err, ErrInvalidKey) {
		t.Errorf("Lookup: %v, want ErrInvalidKey", err)
	}
	if n := d.table.asked.Load(); n != 0 {
		t.Errorf("the store was asked %d times", n)
	}
}

func TestLookupExpiresWithoutBeingTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectoryTest(t)
		d.set(func(c *Caller) { c.ExpiresAt = time.Now().Add(time.Minute) })
		time.Sleep(time.Minute - time.Nanosecond)
		d.want(t, nil)
		time.Sleep(time.Nanosecond)
		d.want(t, ErrInvalidKey)
	})
}

func TestUnknownKeyIsRememberedUntilIssued(t *testing.T) {
	d := newDirectoryTest(t)
	issued := newToken(t, Live)
	for range 3 {
		if _, err := d.Lookup(t.Context(), issued); !errors.Is(err, ErrInvalidKey) {
			t.Fatalf("Lookup: %v, want ErrInvalidKey", err)
		}
	}
	if n := d.table.asked.Load(); n != 1 {
		t.Errorf("the store was asked %d times for an unknown key, want once", n)
	}
	d.table.change(func() {
		d.table.callers[issued.Digest()] = Caller{KeyID: "key_2", Environment: Live, Tenant: tenant(2)}
	})
	d.KeyChanged(issued.Digest())
	if _, err := d.Lookup(t.Context(), issued); err != nil {
		t.Errorf("Lookup after the key was issued: %v", err)
	}
}

func TestChangesAreSeen(t *testing.T) {
	for name, tell := range map[string]func(directoryTest){
		"key":    func(d directoryTest) { d.KeyChanged(d.token.Digest()) },
		"tenant": func(d directoryTest) { d.TenantChanged(1) },
		"all":    func(d directoryTest) { d.AllChanged() },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDirectoryTest(t)
			d.want(t, nil)
			d.set(func(c *Caller) { c.Revoked = true })
			d.want(t, nil)
			d.TenantChanged(2)
			d.want(t, nil)
			tell(d)
			d.want(t, ErrInvalidKey)
		})
	}
}

// A look-up that was under way when a change was heard may have read what was before it: its answer is not kept, and
// who asks after the change does not get it.
func TestChangeDuringLookup(t *testing.T) {
	for name, tell := range map[string]func(directoryTest){
		"key":    func(d directoryTest) { d.KeyChanged(d.token.Digest()) },
		"tenant": func(d directoryTest) { d.TenantChanged(1) },
		"all":    func(d directoryTest) { d.FeedRestored() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDirectoryTest(t)
				held := make(chan struct{})
				d.table.change(func() { d.table.held = held })
				early := make(chan error, 1)
				go func() {
					_, err := d.Lookup(t.Context(), d.token)
					early <- err
				}()
				synctest.Wait()
				d.table.change(func() { d.table.held = nil })
				d.set(func(c *Caller) { c.Revoked = true })
				tell(d)
				d.want(t, ErrInvalidKey)
				close(held)
				if err := <-early; err != nil {
					t.Errorf("the look-up from before the change: %v", err)
				}
				d.want(t, ErrInvalidKey)
			})
		})
	}
}

// The answer from before a change is not there for an instant either: who asks meanwhile would be let in by it.
func TestOldAnswerIsNeverKept(t *testing.T) {
	t.Parallel()
	d := newDirectoryTest(t)
	digest := d.token.Digest()
	for range 2000 {
		before := &entry{digest: digest, Caller: Caller{KeyID: "key_1", Environment: Live, Tenant: tenant(1)}}
		before.changes.Store(d.changes.Load())
		d.KeyChanged(digest)
		var done atomic.Bool
		seen := make(chan bool)
		go func() {
			found := false
			for !done.Load() && !found {
				found = d.callers.find(&digest) != nil
			}
			seen <- found
		}()
		d.keep(d.callers, before)
		done.Store(true)
		if <-seen {
			t.Fatal("an entry from before a change of the key was found after it")
		}
	}
}

func TestWithoutNoticesACallerIsBelievedForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectoryTest(t)
		d.want(t, nil)
		time.Sleep(time.Hour)
		d.want(t, nil)
		d.FeedLost(time.Now())
		d.set(func(c *Caller) { c.Tenant = tenant(1); c.Tenant.Plan = plans.Pro })
		if c := d.want(t, nil); c.Tenant.Plan != plans.Pro {
			t.Errorf("plan %s an hour after the look-up, want it looked up again", c.Tenant.Plan)
		}
		d.set(func(c *Caller) { c.Revoked = true })
		time.Sleep(lostAge - time.Nanosecond)
		d.want(t, nil)
		time.Sleep(time.Nanosecond)
		d.want(t, ErrInvalidKey)
	})
}

func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectoryTest(t)
		d.want(t, nil)
		d.table.change(func() { d.table.away = true })
		d.FeedLost(time.Now())
		time.Sleep(outageAge)
		d.want(t, nil)
		if _, err := d.Lookup(t.Context(), newToken(t, Live)); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a key not known before: %v, want ErrUnavailable", err)
		}
		time.Sleep(time.Nanosecond)
		d.want(t, ErrUnavailable)

		d.table.change(func() { d.table.away = false })
		d.set(func(c *Caller) { c.Revoked = true })
		d.FeedRestored()
		d.want(t, ErrInvalidKey)
	})
}

// A store that is away is asked now and then, not by every request.
func TestOutageCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectoryTest(t)
		d.want(t, nil)
		d.table.change(func() { d.table.away = true })
		d.FeedLost(time.Now())
		time.Sleep(2 * lostAge)
		for range 1000 {
			d.want(t, nil)
		}
		if n := d.table.asked.Load(); n != 2 {
			t.Errorf("the store was asked %d times, want once before and once in the outage", n)
		}
		time.Sleep(retryAfter)
		d.want(t, nil)
		synctest.Wait()
		if n := d.table.asked.Load(); n != 3 {
			t.Errorf("the store was asked %d times, want 3", n)
		}
	})
}

// A store that hangs holds a request up for loadWait and no longer.
func TestHangingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectoryTest(t)
		d.table.change(func() { d.table.held = make(chan struct{}) })
		start := time.Now()
		d.want(t, ErrUnavailable)
		if took := time.Since(start); took != loadWait {
			t.Errorf("the look-up took %v, want %v", took, loadWait)
		}
		time.Sleep(loadTimeout)
	})
}

// Of known callers, only who finds out that the store hangs waits for it; when it answers again, its word holds within
// about a second although no notice comes.
func TestKnownCallersDoNotWaitForAHangingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectoryTest(t)
		d.want(t, nil)
		held := make(chan struct{})
		d.table.change(func() { d.table.held = held })
		d.FeedLost(time.Now())
		time.Sleep(2 * lostAge)
		start := time.Now()
		d.want(t, nil)
		if took := time.Since(start); took != loadWait {
			t.Errorf("the first took %v, want %v", took, loadWait)
		}
		for range 400 {
			start := time.Now()
			d.want(t, nil)
			if took := time.Since(start); took != 0 {
				t.Fatalf("a known caller waited for %v", took)
			}
			time.Sleep(50 * time.Millisecond)
		}
		close(held)
		d.table.change(func() { d.table.held = nil })
		d.set(func(c *Caller) { c.Revoked = true })
		for range 20 {
			time.Sleep(50 * time.Millisecond)
			_, _ = d.Lookup(t.Context(), d.token)
		}
		d.want(t, ErrInvalidKey)
		time.Sleep(loadTimeout)
	})
}

// A single request long after the store was found away waits for it again: it may be back.
func TestQuietOutageEndsWithTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectoryTest(t)
		d.want(t, nil)
		d.table.change(func() { d.table.away = true })
		d.FeedLost(time.Now())
		time.Sleep(2 * lostAge)
		d.want(t, nil)
		d.table.change(func() { d.table.away = false })
		d.set(func(c *Caller) { c.Revoked = true })
		time.Sleep(lostAge)
		d.want(t, ErrInvalidKey)
	})
}

// One slow answer among others says nothing of the store: who is not known yet is still looked up.
func TestSlowAnswerShutsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectoryTest(t)
		other := newToken(t, Live)
		third := newToken(t, Live)
		d.table.change(func() {
			for _, token := range []Token{other, third} {
				d.table.callers[token.Digest()] = Caller{KeyID: "key_2", Environment: Live, Tenant: tenant(2)}
			}
			d.table.held = make(chan struct{})
		})
		slow := make(chan error, 1)
		go func() {
			_, err := d.Lookup(t.Context(), d.token)
			slow <- err
		}()
		synctest.Wait()
		d.table.change(func() { d.table.held = nil })
		time.Sleep(loadWait / 2)
		if _, err := d.Lookup(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		if err := <-slow; !errors.Is(err, ErrUnavailable) {
			t.Errorf("the slow look-up: %v, want ErrUnavailable", err)
		}
		if _, err := d.Lookup(t.Context(), third); err != nil {
			t.Errorf("a key looked up after another's slow answer: %v", err)
		}
		time.Sleep(loadTimeout)
	})
}

func TestKeysShareTheirTenant(t *testing.T) {
	d := newDirectoryTest(t)
	second := newToken(t, Live)
	d.table.change(func() {
		d.table.callers[second.Digest()] = Caller{KeyID: "key_2", Environment: Live, Tenant: tenant(1)}
	})
	first := d.want(t, nil)
	c, err := d.Lookup(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	if c.Tenant != first.Tenant {
		t.Error("two keys of a tenant hold it twice")
	}
	d.set(func(c *Caller) { c.Tenant = tenant(1); c.Tenant.Plan = plans.Pro })
	d.KeyChanged(d.token.Digest())
	if c := d.want(t, nil); c.Tenant.Plan != plans.Pro {
		t.Errorf("plan %s after the tenant changed, want pro", c.Tenant.Plan)
	}
}

func TestConcurrentLookupsShareOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectoryTest(t)
		held := make(chan struct{})
		d.table.change(func() { d.table.held = held })
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := d.Lookup(t.Context(), d.token); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(held)
		all.Wait()
		if n := d.table.asked.Load(); n != 1 {
			t.Errorf("the store was asked %d times, want once", n)
		}
	})
}
