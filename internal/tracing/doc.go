// Package tracing starts the spans of requests, and has OpenTelemetry's SDK export them by OTLP
// over HTTP. The SDK reads its own variables; ReadConfig reads those that decide whether it is
// started, and finds mistakes in those that must not pass.
//
// A request's own span starts when it is known whether the request counts in its sender's limits,
// with the instant at which the request came. Only then may its client's trace be its parent, so a
// stranger makes no spans beyond the share that is configured. What ran before is shown by its
// times.
//
// With no endpoint there is no Tracer. All methods of a nil *Tracer do nothing.
//
// Nothing blocks a request. A span that finds the queue full is dropped and counted. Of what a
// client sent, spans hold the trace ID, the request ID and the key's ID; no path, no query, no
// body, no argument of a statement.
//
// A Tracer is safe for concurrent use.
package tracing
