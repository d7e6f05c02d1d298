package tracing

import (
	"context"
	"errors"
	"sync"
	"time"
)

// maxSpans is how many spans of a trace are kept. Further ones are counted.
const maxSpans = 64

// kind is that of OTLP's Span.
type kind int32

const (
	internal kind = iota + 1
	server
	client
)

// Attr is an attribute of a span.
type Attr struct {
	key      string
	text     string
	number   int64
	isNumber bool
}

// String returns an attribute with a text.
func String(key, value string) Attr { return Attr{key: key, text: value} }

// Int returns an attribute with a number.
func Int(key string, value int64) Attr { return Attr{key: key, number: value, isNumber: true} }

type span struct {
	id, parent SpanID
	name       string
	kind       kind
	start, end time.Time
	attrs      []Attr
	// failed is the error.type, "" for none.
	failed string
}

// Trace gathers the spans of one request. The first is the request's own.
type Trace struct {
	tracer *Tracer
	id     TraceID
	remote bool
	// chosen is true if the share chose the request, and wanted if it is exported once it is counted.
	chosen, wanted bool
	counted        bool

	mu    sync.Mutex
	spans []span
	// phase is the span that is the parent of those that begin now.
	phase   int
	dropped int
	ended   bool
}

// Begin begins the trace of a request that came at that time. It returns nil if the share did not choose the request.
func (t *Tracer) Begin(parent Parent, at time.Time) *Trace {
	if t == nil || !t.sampler.draw() {
		return nil
	}
	return t.begin(parent, at, true)
}

// Follow begins the trace of a request for which Begin returned nil, and whose sender is known by now. phase is what has run since it came,
// without what was called meanwhile. Follow returns nil if the parent does not want the request exported, or may not decide.
func (t *Tracer) Follow(parent Parent, at time.Time, phase string) *Trace {
	if t == nil || !parent.Sampled || !t.sampler.decides(parent) {
		return nil
	}
	r := t.begin(parent, at, false)
	r.Enter(phase)
	r.spans[r.phase].start = at
	return r
}

func (t *Tracer) begin(parent Parent, at time.Time, chosen bool) *Trace {
	r := &Trace{
		tracer: t, id: parent.Trace, remote: parent.Valid(),
		chosen: chosen, wanted: parent.Sampled || !t.sampler.decides(parent), spans: make([]span, 1, 8),
	}
	if !r.remote {
		r.id = newTraceID()
	}
	r.spans[0] = span{id: newSpanID(), parent: parent.Span, kind: server, start: at}
	return r
}

// Count notes that the request was counted in its sender's quota, so that the parent may decide.
func (r *Trace) Count() {
	if r != nil {
		r.counted = true
	}
}

// Enter begins a phase of the request, which ends with the next or with Leave. What begins during a phase is part of it.
func (r *Trace) Enter(name string) {
	if r != nil {
		r.enter(name)
	}
}

// Leave ends the phase.
func (r *Trace) Leave() {
	if r != nil {
		r.enter("")
	}
}

func (r *Trace) enter(name string) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	if r.phase != 0 {
		r.spans[r.phase].end = now
		r.phase = 0
	}
	if name != "" {
		r.phase = max(0, r.add(span{parent: r.spans[0].id, name: name, kind: internal, start: now}))
	}
}

// add returns the index of the span, -1 if it is not kept. It is called with mu held.
func (r *Trace) add(s span) int {
	if r.ended {
		return -1
	}
	if len(r.spans) == maxSpans {
		r.dropped++
		return -1
	}
	s.id = newSpanID()
	r.spans = append(r.spans, s)
	return len(r.spans) - 1
}

// End ends the request's span and hands the trace to the exporter. It returns the trace's ID, "" if it is not exported: if what decides by
// then is against it. failed is the error.type of a failure on our side, "" for none.
func (r *Trace) End(name, failed string, attrs ...Attr) string {
	if r == nil {
		return ""
	}
	r.close(name, failed, attrs)
	if r.counted && !r.wanted || !r.counted && !r.chosen {
		return ""
	}
	r.tracer.enqueue(r)
	return r.id.String()
}

// close ends all spans that have not ended. What begins or ends later is left out.
func (r *Trace) close(name, failed string, attrs []Attr) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.spans[0].name, r.spans[0].failed, r.spans[0].attrs = name, failed, attrs
	for i := range r.spans {
		if r.spans[i].end.IsZero() {
			r.spans[i].end = now
		}
	}
}

// position is where in a trace what begins with a context belongs.
type position struct {
	trace *Trace
	// parent is zero for the phase.
	parent SpanID
}

type contextKey struct{}

// NewContext returns a context whose calls are part of the trace.
func NewContext(ctx context.Context, r *Trace) context.Context {
	return context.WithValue(ctx, contextKey{}, &position{trace: r})
}

// start begins a span of a call to another program, and returns the context for what is part of it. end is nil if ctx belongs to no
// trace. Otherwise it must be called with the error of the call.
func start(ctx context.Context, name string, attrs []Attr) (_ context.Context, end func(error)) {
	p, ok := ctx.Value(contextKey{}).(*position)
	if !ok {
		return ctx, nil
	}
	r, now := p.trace, time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	parent := p.parent
	if parent == (SpanID{}) {
		parent = r.spans[r.phase].id
	}
	i := r.add(span{parent: parent, name: name, kind: client, start: now, attrs: attrs})
	if i < 0 {
		return ctx, nil
	}
	ctx = context.WithValue(ctx, contextKey{}, &position{r, r.spans[i].id})
	return ctx, func(err error) { r.end(i, err) }
}

func (r *Trace) end(i int, err error) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.spans[i].end = now
	if err != nil {
		r.spans[i].failed = errorType(err)
	}
}

// errorType names a kind of error, without its text, which may hold a value.
func errorType(err error) string {
	if coded, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return coded.SQLState()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "_OTHER"
}
