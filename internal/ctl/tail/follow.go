package tail

import (
	"context"
	"errors"
	"slices"
	"time"

	"petstore.example/internal/ctl/key"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/usage"
)

const (
	// pollEvery is how often the database is asked: as often as servers write.
	pollEvery = usage.FlushInterval
	// lookBack is how far back a poll looks for failed requests, because they arrive late and
	// clocks differ. maxFailed is the most that it reads at once.
	lookBack  = 5 * time.Minute
	maxFailed = 5000
)

// follower reads the new requests of a tenant, or of one of its keys.
type follower struct {
	db       *store.DB
	now      func() time.Time
	tenantID int64
	tenant   string
	// keyID is empty for all keys.
	keyID string
	// what names the tenant or the key in a message.
	what string
	// counts says whether the numbers of requests by key are printed too.
	counts bool
	// say prints a message. failing is set while the database can't be reached.
	say     func(format string, args ...any)
	failing bool

	// seen are the failed requests that were read, with their time.
	seen map[failedID]time.Time
	// since is the hour from which usage is summed. sums is the usage at the last poll; nil before
	// the first.
	since time.Time
	sums  map[string]billing.KeyUsage
	// labels are the names of keys.
	labels map[string]string
}

type failedID struct {
	server string
	number int64
}

// run prints what is new, only for length if that is not 0. If ctx ends first, it returns the error
// of ctx.
func (f *follower) run(ctx context.Context, length time.Duration, w *writer) error {
	var end <-chan time.Time
	if length > 0 {
		end = time.After(length)
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for last := false; !last; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			last = true
		case <-tick.C:
		}
		events, err := f.poll(ctx)
		if err := w.write(events); err != nil {
			return err
		}
		if err := f.outage(err, last); err != nil {
			return err
		}
	}
	return nil
}

// outage says once that the database can't be reached. It returns any other error, and any error of
// the last poll.
func (f *follower) outage(err error, last bool) error {
	if err != nil && (last || !errors.Is(err, store.ErrUnavailable)) {
		return err
	}
	if err != nil && !f.failing {
		f.say("%v: trying again", err)
	}
	f.failing = err != nil
	return nil
}

// poll returns what is new since the last poll, in order of time.
func (f *follower) poll(ctx context.Context) ([]event, error) {
	events, err := f.pollFailed(ctx)
	if err == nil && f.counts {
		var counts []event
		counts, err = f.pollCounts(ctx)
		events = append(events, counts...)
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.At.Compare(b.At) })
	return events, err
}

func (f *follower) pollFailed(ctx context.Context) (events []event, err error) {
	since := f.now().Add(-lookBack)
	list, err := f.db.FailedRequests.OfTenant(ctx, f.tenantID, since, maxFailed)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(list) {
		id := failedID{r.ServerID, r.Number}
		if _, ok := f.seen[id]; ok || f.keyID != "" && r.KeyID != f.keyID {
			continue
		}
		f.seen[id] = r.At
		events = append(events, event{FailedRequest: r, tenant: f.tenant})
	}
	for id, at := range f.seen {
		if at.Before(since) {
			delete(f.seen, id)
		}
	}
	return events, nil
}

// pollCounts compares the recorded usage with that at the last poll.
func (f *follower) pollCounts(ctx context.Context) (events []event, err error) {
	now := f.now()
	first := f.sums == nil
	if first {
		// A server whose clock is behind may still record in the hour before.
		f.since = now.Truncate(time.Hour).Add(-time.Hour)
	}
	sums, err := f.db.Usage.OfKeys(ctx, f.tenantID, f.since, now.Add(24*time.Hour))
	if err != nil {
		return nil, err
	}
	for id, u := range sums {
		before := f.sums[id]
		admitted, refused := u.Admitted-before.Admitted, u.Refused-before.Refused
		// A count falls when a request that ended in 5xx is refunded.
		if first || f.keyID != "" && id != f.keyID || admitted <= 0 && refused <= 0 {
			continue
		}
		events = append(events, event{
			FailedRequest: usage.FailedRequest{At: now, TenantID: f.tenantID, KeyID: id}, tenant: f.tenant,
			counts: &counts{max(0, admitted), max(0, refused)},
		})
	}
	f.sums = sums
	return events, f.settle(ctx, now)
}

// settle subtracts the usage of hours in which no server records any more, so that later polls need
// not read them.
func (f *follower) settle(ctx context.Context, now time.Time) error {
	since := now.Truncate(time.Hour).Add(-time.Hour)
	if !since.After(f.since) {
		return nil
	}
	settled, err := f.db.Usage.OfKeys(ctx, f.tenantID, f.since, since)
	if err != nil {
		return err
	}
	for id, u := range settled {
		rest := f.sums[id]
		rest.Admitted -= u.Admitted
		rest.Refused -= u.Refused
		f.sums[id] = rest
	}
	f.since = since
	return nil
}

// label names a key. It looks the key up the first time.
func (f *follower) label(keyID string) string {
	label, ok := f.labels[keyID]
	if !ok {
		label = keyID
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if k, err := f.db.Keys.Get(ctx, keyID); err == nil {
			label = key.Label(k)
		}
		f.labels[keyID] = label
	}
	return label
}
