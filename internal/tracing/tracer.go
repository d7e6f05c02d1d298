package tracing

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

const (
	// queueLength is how many traces wait to be exported at most.
	queueLength = 2048
	// batchSpans is how many spans are sent at once, or what there is after batchDelay.
	batchSpans = 512
	batchDelay = time.Second
)

// Counts are numbers of spans since the start.
type Counts struct {
	// Exported were taken by the collector.
	Exported int64
	// Dropped found the queue full, or were left when the server stopped.
	Dropped int64
	// Failed were sent, and the collector refused them or did not answer.
	Failed int64
}

// Tracer begins traces and exports them from a goroutine of its own. A nil *Tracer traces nothing.
type Tracer struct {
	sampler  sampler
	sender   *sender
	resource []Attr
	log      zerolog.Logger

	queue                     chan *Trace
	exported, dropped, failed atomic.Int64

	// stopped is closed when nothing more is awaited, and ended when the goroutine has ended.
	stopping sync.Once
	stopped  chan struct{}
	ended    chan struct{}
	// abort ends a request to the collector.
	abort context.CancelFunc
	// away is true while the collector takes nothing.
	away bool
}

// Start returns a Tracer, nil if the configuration has no endpoint. resource is what identifies this server.
func Start(c Config, log zerolog.Logger, resource ...Attr) *Tracer {
	if c.Endpoint == "" {
		return nil
	}
	t := &Tracer{
		sampler: c.sampler, sender: newSender(c), resource: c.resource(resource), log: log,
		queue: make(chan *Trace, queueLength), stopped: make(chan struct{}), ended: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.abort = cancel
	go t.run(ctx)
	return t
}

// Counts returns the numbers of spans.
func (t *Tracer) Counts() Counts {
	if t == nil {
		return Counts{}
	}
	return Counts{Exported: t.exported.Load(), Dropped: t.dropped.Load(), Failed: t.failed.Load()}
}

// Stop exports what waits. When ctx ends first, the rest is dropped. Call it when no request is served any more.
func (t *Tracer) Stop(ctx context.Context) {
	if t == nil {
		return
	}
	t.stopping.Do(func() { close(t.stopped) })
	select {
	case <-t.ended:
	case <-ctx.Done():
		t.abort()
		<-t.ended
	}
	t.abort()
}

func (t *Tracer) enqueue(r *Trace) {
	select {
	case t.queue <- r:
	default:
		t.dropped.Add(int64(len(r.spans)))
	}
}

// run exports until Stop is called, and then what is left.
func (t *Tracer) run(ctx context.Context) {
	defer close(t.ended)
	tick := time.NewTicker(batchDelay)
	defer tick.Stop()
	var batch []*Trace
	spans := 0
	for {
		stopping := false
		select {
		case r := <-t.queue:
			batch, spans = append(batch, r), spans+len(r.spans)
			if spans < batchSpans {
				continue
			}
		case <-tick.C:
		case <-t.stopped:
			stopping = true
		}
		if stopping && len(t.queue) > 0 {
			continue // until the queue is empty
		}
		t.export(ctx, batch, spans)
		batch, spans = nil, 0
		if stopping {
			return
		}
	}
}

// export sends a batch, and counts what became of it.
func (t *Tracer) export(ctx context.Context, batch []*Trace, spans int) {
	if len(batch) == 0 {
		return
	}
	body, err := encode(t.resource, batch)
	var refused int64
	if err == nil {
		refused, err = t.sender.send(ctx, body, t.stopped)
	}
	switch {
	case ctx.Err() != nil:
		t.dropped.Add(int64(spans))
		return
	case err != nil:
		t.failed.Add(int64(spans))
	default:
		t.exported.Add(int64(spans) - refused)
		t.failed.Add(refused)
	}
	switch {
	case err != nil && !t.away:
		t.log.Warn().Err(err).Msg("traces can't be exported")
	case err == nil && t.away:
		t.log.Info().Msg("traces are exported again")
	}
	t.away = err != nil
}
