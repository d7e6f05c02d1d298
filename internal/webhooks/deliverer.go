package webhooks

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
)

const (
	// healthyWorkers and failingWorkers are how many requests a server has in flight to endpoints that
	// answer, and to those that don't: dead ones take the time limit each, and would fill all. A tenant
	// has at most MaxEndpoints * Slots of them, less than a quarter.
	healthyWorkers, failingWorkers = 48, 16
	// batchTime is after how long a batch gives back what it has not begun: with one more attempt it
	// ends within its lease.
	batchTime = 5 * time.Second
	// unsealable is when a batch whose secrets can't be opened is looked at again.
	unsealable = time.Minute

	pollEvery   = 100 * time.Millisecond
	finishEvery = 10 * time.Millisecond
	reportEvery = 5 * time.Second
	// tellEvery is how often is looked for what time makes: a tenth of a millisecond for each tenant
	// with endpoints.
	tellEvery  = 30 * time.Second
	pruneEvery = time.Hour
	// retryEvery is how often an outbox that can't be reached is tried again.
	retryEvery = time.Second
	// stopTime is how long requests in flight may go on after the Deliverer was stopped.
	stopTime = 5 * time.Second
	// lease is how long a claim lasts. A result that was not stored by then may be dropped: the
	// delivery is claimed again.
	lease = 30 * time.Second
)

// Options are the options of a Deliverer.
type Options struct {
	Outbox Outbox
	// Sealer and Sender are nil if there is no key: then nothing is sent, but it is reported.
	Sealer *Sealer
	Sender *Sender
	// Relay says why the relay of mail fails, "" if it works. It is nil if this server sends no mail.
	Relay func() string
	// Refused tells an error of the statement from one of the connection.
	Refused func(error) bool
	// OnResult and OnBacklog get what is counted; OnResult from several goroutines.
	OnResult  func(Result)
	OnBacklog func(Backlog)
	Log       zerolog.Logger
}

// Deliverer claims what is due, sends it and stores the results.
type Deliverer struct {
	Options
	holder  uuid.UUID
	results chan Result
	// finished wakes the claims after results were stored.
	finished chan struct{}
	workers  sync.WaitGroup
	// endpoints is 0 while nobody can be told of anything.
	endpoints        atomic.Int64
	healthy, failing atomic.Int64
}

// NewDeliverer returns a Deliverer that does nothing before Run.
func NewDeliverer(o Options) *Deliverer {
	return &Deliverer{
		Options:  o,
		holder:   uuid.New(),
		results:  make(chan Result, healthyWorkers+failingWorkers),
		finished: make(chan struct{}, 1),
	}
}

// Run works until ctx ends. It then begins no request, waits for those in flight for a few seconds,
// and stores what came of them.
func (d *Deliverer) Run(ctx context.Context) error {
	var running sync.WaitGroup
	running.Go(func() { d.every(ctx, reportEvery, "look after webhooks", d.report) })
	running.Go(func() { d.every(ctx, tellEvery, "add webhooks that are due", d.Outbox.Tell) })
	running.Go(func() { d.every(ctx, pruneEvery, "remove old webhooks", d.Outbox.Prune) })
	if d.Sealer != nil {
		storing, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		running.Go(func() { d.finish(storing) })
		d.claim(ctx)
		d.workers.Wait()
		close(d.results)
		defer time.AfterFunc(stopTime, cancel).Stop()
	}
	running.Wait()
	return ctx.Err()
}

// keyIDs are none if webhooks are off.
func (d *Deliverer) keyIDs() []string {
	if d.Sealer == nil {
		return nil
	}
	return d.Sealer.KeyIDs()
}

// claim starts a worker for each batch, until ctx ends.
func (d *Deliverer) claim(ctx context.Context) {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(stopTime, cancel) })
	for wait := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-d.finished:
		case <-time.After(wait):
		}
		wait = pollEvery
		healthy, failing := healthyWorkers-d.healthy.Load(), failingWorkers-d.failing.Load()
		if d.endpoints.Load() == 0 || healthy+failing == 0 {
			continue
		}
		batches, err := d.Outbox.Claim(ctx, d.holder, d.Sealer.KeyIDs(), int(healthy), int(failing))
		if err != nil && ctx.Err() == nil {
			d.Log.Warn().Err(err).Msg("claim webhooks")
			wait = retryEvery
		}
		for _, b := range batches {
			count := &d.healthy
			if b.Failing {
				count = &d.failing
			}
			count.Add(1)
			d.workers.Go(func() {
				defer count.Add(-1)
				d.send(working, ctx.Done(), b)
			})
		}
	}
}

// send makes the deliveries of a batch in order. It gives back those after a failure, after
// batchTime, and after stop.
func (d *Deliverer) send(ctx context.Context, stop <-chan struct{}, b Batch) {
	s, err := d.Sender.begin(b)
	if err != nil {
		d.Log.Error().Err(err).Int64("endpoint", b.EndpointID).Msg("sign webhooks")
		d.giveBack(b, 0, unsealable)
		return
	}
	defer s.end()
	enough := time.After(batchTime)
	for i, delivery := range b.Deliveries {
		select {
		case <-stop:
			d.giveBack(b, i, 0)
			return
		case <-enough:
			d.giveBack(b, i, 0)
			return
		default:
		}
		r := s.send(ctx, delivery)
		if r.Outcome == Returned {
			d.giveBack(b, i, r.RetryAfter)
			return
		}
		r.Last = i == len(b.Deliveries)-1
		d.OnResult(r)
		d.results <- r
		if r.Outcome != Delivered && !r.Last {
			d.giveBack(b, i+1, 0)
			return
		}
	}
}

// giveBack returns the deliveries of a batch from the index on, to be due again after a time.
func (d *Deliverer) giveBack(b Batch, from int, after time.Duration) {
	for i := from; i < len(b.Deliveries); i++ {
		d.results <- Result{
			DeliveryID: b.Deliveries[i].ID,
			EndpointID: b.EndpointID,
			Slot:       b.Slot,
			Attempt:    b.Deliveries[i].Attempt,
			At:         d.Sender.now(),
			Outcome:    Returned,
			RetryAfter: after,
			Last:       i == len(b.Deliveries)-1,
		}
	}
}

// finish stores results, those of finishEvery together, until there are no more.
func (d *Deliverer) finish(ctx context.Context) {
	for r := range d.results {
		together := []Result{r}
		for collecting, ok := time.After(finishEvery), true; ok; {
			select {
			case r, ok = <-d.results:
				if ok {
					together = append(together, r)
				}
			case <-collecting:
				ok = false
			}
		}
		d.store(ctx, together)
		select {
		case d.finished <- struct{}{}:
		default:
		}
	}
}

// store stores results in one statement. If Postgres refuses it, it stores them one by one, so that
// one result harms no other. It tries again while Postgres can't be reached.
func (d *Deliverer) store(ctx context.Context, results []Result) {
	ctx, cancel := context.WithTimeout(ctx, lease)
	defer cancel()
	for {
		err := d.Outbox.Finish(ctx, d.holder, results)
		switch {
		case err == nil:
			return
		case d.Refused(err) && len(results) > 1:
			for i := range results {
				d.store(ctx, results[i:i+1])
			}
			return
		case d.Refused(err) || ctx.Err() != nil:
			d.Log.Error().Err(err).Int64("endpoint", results[0].EndpointID).Msg("store results of webhooks")
			return
		}
		d.Log.Warn().Err(err).Msg("store results of webhooks")
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}
