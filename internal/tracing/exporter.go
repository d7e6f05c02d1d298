package tracing

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// exporter counts what happens to spans, and logs errors without secrets.
type exporter struct {
	sdk.SpanExporter
	log     zerolog.Logger
	count   func(result string, spans int)
	hide    *strings.Replacer
	size    int64 // the queue's capacity
	waiting atomic.Int64
}

func newExporter(c Config, log zerolog.Logger, count func(result string, spans int)) (*exporter, error) {
	var hidden []string
	for _, value := range c.headers() {
		if value != "" {
			hidden = append(hidden, value, "[redacted]")
		}
	}
	// A redirect could take the headers to another host.
	proxy := func(r *http.Request) (*url.URL, error) {
		if r.Response != nil {
			return nil, errors.New("the collector redirects")
		}
		return http.ProxyFromEnvironment(r)
	}
	out, err := otlptracehttp.New(
		context.Background(),
		otlptracehttp.WithHeaders(c.headers()),
		otlptracehttp.WithProxy(proxy),
	)
	return &exporter{
		SpanExporter: out,
		log:          log,
		count:        count,
		size:         c.queue,
		hide:         strings.NewReplacer(hidden...),
	}, err
}

// ExportSpans implements sdk.SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.waiting.Add(int64(-len(spans)))
	if err == nil {
		e.count("exported", len(spans))
		return nil
	}
	e.count("failed", len(spans))
	const most = 500 // The collector's reply, which is part of the error, may be long.
	text := e.hide.Replace(err.Error())
	e.log.Warn().Str("error", text[:min(most, len(text))]).Msg("traces can't be exported")
	return nil
}

// queue counts the waiting spans, so that it knows how many are dropped.
type queue struct {
	sdk.SpanProcessor
	e *exporter
}

// OnEnd implements sdk.SpanProcessor.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	if q.e.waiting.Add(1) > q.e.size {
		q.e.waiting.Add(-1)
		q.e.count("dropped", 1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}
