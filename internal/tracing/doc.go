// Package tracing starts the spans of requests. OpenTelemetry's SDK exports them by OTLP over HTTP.
// The SDK reads its own variables. ReadConfig reads those that decide whether it is started, and
// finds mistakes that must not reach it.
//
// A request's own span starts when it is known whether the request counts in its sender's limits;
// its start time is when the request came. If the request counts, its client's trace may be its
// parent. So a stranger makes no spans beyond the configured share. Earlier steps are added with
// their times.
//
// With no endpoint there is no Tracer. All methods of a nil *Tracer do nothing.
//
// Nothing blocks a request. A span that finds the queue full is dropped and counted. Of a client's
// data, spans hold the trace ID, the request ID and the key's ID, but no path, query, body or
// argument of a statement.
//
// A Tracer is safe for concurrent use.
package tracing
