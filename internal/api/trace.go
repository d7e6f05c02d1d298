package api

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"petstore.example/internal/tracing"
)

// startTrace starts the span of a request at the time when it came, if requests are traced. It must
// be called when it is known whether the request counts in its sender's limits: only then may the
// client's trace be its parent. The earlier steps are added with their times, unless the request
// has ended already.
func (a *api) startTrace(x *exchange, came time.Time) {
	if a.Tracer == nil {
		return
	}
	var parent trace.SpanContext
	if x.Counted {
		parent = a.Tracer.ParentOf(x.Request.Header)
	}
	ctx, span := a.Tracer.Request(x.Request.Context(), parent, x.route.path, came)
	x.span = span
	if !span.IsRecording() {
		return
	}
	x.Request = x.Request.WithContext(ctx)
	if !x.Identified.IsZero() {
		a.Tracer.Step(ctx, "identify", came, x.Identified)
		a.Tracer.Step(ctx, "admit", x.Admitting, a.Tracer.Now())
	}
}

// endTrace ends the span. For a request that was never admitted it starts the span first. The
// attributes follow OpenTelemetry's conventions for HTTP servers, without url.path, which may hold
// a key.
func (a *api) endTrace(x *exchange, status int) {
	if x.span == nil {
		x.Identified = time.Time{}
		a.startTrace(x, x.asked.Came)
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
	// The copy is needed: the request ID may be part of a string that holds the whole request.
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
		x.span.SetAttributes(attribute.String("petstore.code", x.failed.Code.Name))
		if reason := x.failureReason(); reason != "" {
			x.span.SetAttributes(attribute.String("petstore.reason", reason))
		}
		if x.isTrouble(status) {
			tracing.Fail(x.span, x.failed.Code.Name)
		}
	}
	x.span.End()
	x.traceID = x.span.SpanContext().TraceID().String()
}

// traceOf returns the trace ID for the log: the exported trace's, else the client's, else "".
func (a *api) traceOf(x *exchange) string {
	if x.traceID != "" {
		return x.traceID
	}
	if parent := a.Tracer.ParentOf(x.Request.Header); parent.IsValid() {
		return parent.TraceID().String()
	}
	return ""
}
