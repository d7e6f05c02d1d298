package tracing

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/contrib/propagators/autoprop"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const scope = "petstore"

// Tracer starts the spans of requests. A nil *Tracer traces nothing.
type Tracer struct {
	*exporter
	provider   *sdk.TracerProvider
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	// share is Config.share. The decision is made before the SDK makes a span, because each span
	// costs five allocations, exported or not.
	share float64
	// headers are the headers in which clients name a trace.
	headers []string
}

// off reads clients' traces for the log while nothing is traced.
var off = &Tracer{propagator: propagation.TraceContext{}, headers: []string{"Traceparent"}}

// LogTo makes the SDK log what is wrong with its variables to the process's log, without their
// values.
func LogTo(log zerolog.Logger) {
	otel.SetErrorHandler(
		otel.ErrorHandlerFunc(func(err error) { log.Warn().Err(err).Msg("OpenTelemetry's SDK reports an error") }),
	)
	otel.SetLogger(funcr.New(func(_, text string) {
		log.Warn().Str("error", text).Msg("OpenTelemetry's SDK reports an error")
	}, funcr.Options{RenderArgsHook: func([]any) []any { return nil }}))
}

// Start returns a Tracer, nil if no collector is configured or the SDK can't be started. count gets
// the number of spans that were "exported", "dropped" because the queue was full, or "failed"
// because the collector did not answer or refused some of them. attrs identify this server;
// variables of the resource win over them.
func Start(c Config, log zerolog.Logger, count func(result string, spans int), attrs ...attribute.KeyValue) *Tracer {
	if !c.On {
		return nil
	}
	e, err := newExporter(c, log, count)
	if err != nil {
		log.Error().Err(err).Msg("traces can't be exported")
		return nil
	}
	own := resource.WithAttributes(append(attrs, attribute.String("service.name", "petstore"))...)
	of, err := resource.New(context.Background(), resource.WithTelemetrySDK(), own, resource.WithFromEnv())
	if err != nil {
		log.Warn().Err(err).Msg("OTEL_RESOURCE_ATTRIBUTES has mistakes")
	}
	batches := sdk.NewBatchSpanProcessor(e, sdk.WithMaxQueueSize(int(c.queue)))
	t := &Tracer{exporter: e, propagator: autoprop.NewTextMapPropagator(), share: c.share}
	options := []sdk.TracerProviderOption{sdk.WithResource(of), sdk.WithSpanProcessor(&queue{batches, e})}
	if c.share < 1 {
		options = append(options, sdk.WithSampler(sdk.ParentBased(sdk.AlwaysSample())))
	}
	t.provider = sdk.NewTracerProvider(options...)
	t.tracer = t.provider.Tracer(scope)
	for _, name := range t.propagator.Fields() {
		t.headers = append(t.headers, http.CanonicalHeaderKey(name))
	}
	return t
}

// Stop exports the waiting spans. If ctx ends first, the rest is dropped. Call it when no request
// is served any more.
func (t *Tracer) Stop(ctx context.Context) {
	if t != nil && t.provider.Shutdown(ctx) != nil {
		_ = t.Shutdown(ctx) // The exporter's Shutdown ends a request to the collector.
	}
}

// Now returns the time, zero if nothing is traced.
func (t *Tracer) Now() (now time.Time) {
	if t != nil {
		now = time.Now()
	}
	return now
}

// ParentOf returns the client's span that a request belongs to, by the headers of the configured
// propagators. It returns an invalid one if there is none.
func (t *Tracer) ParentOf(h http.Header) trace.SpanContext {
	if t == nil {
		t = off
	}
	if !slices.ContainsFunc(t.headers, func(name string) bool { return h[name] != nil }) {
		return trace.SpanContext{}
	}
	ctx := t.propagator.Extract(context.Background(), propagation.HeaderCarrier(h))
	return trace.SpanContextFromContext(ctx).WithTraceState(trace.TraceState{})
}

// Request starts the span of a request that came at that time. Its parent may be invalid. While the
// queue is full it returns a span that records nothing: the whole trace is dropped, at no further
// cost.
func (t *Tracer) Request(
	ctx context.Context,
	parent trace.SpanContext,
	name string,
	at time.Time,
) (context.Context, trace.Span) {
	none := trace.SpanFromContext(context.Background())
	if parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	} else if t.share < 1 && rand.Float64() >= t.share { //nolint:gosec // Nothing secret rests on it.
		return ctx, none
	}
	started, span := t.tracer.Start(ctx, name, trace.WithTimestamp(at), trace.WithSpanKind(trace.SpanKindServer))
	if span.IsRecording() && t.waiting.Load() >= t.size {
		t.count("dropped", 1)
		return ctx, none
	}
	return started, span
}

// Step adds a finished part of a request to its span.
func (t *Tracer) Step(ctx context.Context, name string, from, to time.Time) {
	_, span := t.tracer.Start(ctx, name, trace.WithTimestamp(from))
	span.End(trace.WithTimestamp(to))
}
