package api

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"petstore.example/internal/tracing"
)

// startTrace starts the span of a request that came at that time, if requests are traced: when it
// is known whether the request counts in its sender's limits. Only then is the client's trace its
// parent. What ran before is added by its times, unless the request ended before.
func (a *api) startTrace(x *exchange, came, identified, admitting time.Time) {
	if a.Tracer == nil {
		return
	}
	var parent trace.SpanContext
	if x.counted {
		parent = a.Tracer.ParentOf(x.Request.Header)
	}
	ctx, span := a.Tracer.Request(x.Request.Context(), parent, x.route.path, came)
	x.span = span
	if !span.IsRecording() {
		return
	}
	x.Request = x.Request.WithContext(ctx)
	if !identified.IsZero() {
		a.Tracer.Step(ctx, "identify", came, identified)
		a.Tracer.Step(ctx, "admit", admitting, a.Tracer.Now())
	}
}

// endTrace ends the span, and starts it if the request was never admitted. Its attributes are those
// of OpenTelemetry's conventions for HTTP servers, without url.path, which may hold a key.
func (a *api) endTrace(x *exchange, status int) {
	if x.span == nil {
		a.startTrace(x, x.started, time.Time{}, time.Time{})
	}
	if !x.span.IsRecording() {
		return
	}
	method := methodName(x.Request.Method)
	name := method + " " + x.route.path
	if method == "other" {
		method, name = "_OTHER", "HTTP "+x.route.path
	}
	x.span.SetName(name)
	// The request ID may be part of a string that holds the whole request.
	x.span.SetAttributes(
		attribute.String(
			"http.request.method",
			method,
		),
		attribute.String("http.route", x.route.path),
		attribute.Int("http.response.status_code", status),
		attribute.String("petstore.request_id", strings.Clone(x.id)),
		attribute.String("petstore.plan", x.plan()),
	)
	if c := x.owner(); c != nil {
		x.span.SetAttributes(
			attribute.String("petstore.tenant", c.Tenant.Name),
			attribute.Int64("petstore.tenant_id", c.Tenant.ID),
			attribute.String("petstore.key", c.KeyID),
		)
	}
	if x.failed != nil {
		x.span.SetAttributes(attribute.String("petstore.code", x.failed.code.name))
		if reason := x.failureReason(); reason != "" {
			x.span.SetAttributes(attribute.String("petstore.reason", reason))
		}
		if x.isTrouble(status) {
			tracing.Fail(x.span, x.failed.code.name)
		}
	}
	x.span.End()
	x.traceID = x.span.SpanContext().TraceID().String()
}

// traceOf returns the ID of the trace that a request is part of, for the log: of the one that is
// exported, or else of the client's. It is "" if there is none.
func (a *api) traceOf(x *exchange) string {
	if x.traceID != "" {
		return x.traceID
	}
	if parent := a.Tracer.ParentOf(x.Request.Header); parent.IsValid() {
		return parent.TraceID().String()
	}
	return ""
}
