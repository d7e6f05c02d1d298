// Package tracing records what a request does, as OpenTelemetry spans, and exports it by OTLP over HTTP.
//
// A Trace gathers the spans of one request in memory. When the request ends, all of them are exported or none: only then is it known whether
// the request was counted in its sender's quota, and so whether its traceparent may decide. A client never makes the server export more
// than is configured and what its quota lets in. Without a valid key its traceparent does not even begin a Trace.
//
// With no endpoint there is no Tracer. All methods of a nil *Tracer and a nil *Trace do nothing, so a request that is not traced costs a
// comparison here and there.
//
// Nothing blocks a request. A trace that finds the queue full is dropped and counted. If the collector is away, traces are sent again for
// some seconds, and then dropped and counted. Of what a client
// sent, spans hold the trace ID, the request ID and the key's ID; no path, no query, no body, no argument of a statement.
//
// A Tracer and a Trace are safe for concurrent use.
//
// This is not the OpenTelemetry SDK: its spans cost 1.3 µs each, it decides when a request begins, and its OTLP exporter adds 17 MB. What
// is sent is made from OpenTelemetry's own definition (proto/slim/otlp).
package tracing
