package api

import (
	"strings"

	"petstore.example/internal/tracing"
)

// beginTrace begins the trace of a request that the share chose. The client's traceparent is its parent.
func beginTrace(t *tracing.Tracer, x *exchange) {
	setTrace(x, t.Begin(tracing.ParentOf(x.Request.Header), x.started))
}

// followTrace begins the trace of a request that the share did not choose, if its caller may decide and wants it. It is called after
// identify: a stranger's traceparent costs nothing.
func followTrace(t *tracing.Tracer, x *exchange) {
	if x.trace == nil && x.caller != nil {
		setTrace(x, t.Follow(tracing.ParentOf(x.Request.Header), x.started, "identify"))
	}
}

func setTrace(x *exchange, r *tracing.Trace) {
	if x.trace = r; r != nil {
		x.Request = x.Request.WithContext(tracing.NewContext(x.Request.Context(), r))
	}
}

// endTrace ends the trace. Its attributes are those of OpenTelemetry's conventions for HTTP servers, without url.path, which may hold a key.
func endTrace(x *exchange, status int) {
	method := methodName(x.Request.Method)
	name := method + " " + x.route.path
	attrs := make([]tracing.Attr, 0, 12)
	// The request ID may be part of a string that holds the whole request.
	attrs = append(attrs,
		tracing.String("http.route", x.route.path), tracing.Int("http.response.status_code", int64(status)),
		tracing.String("petstore.request_id", strings.Clone(x.id)), tracing.String("petstore.plan", x.plan()),
	)
	if method == "other" {
		method, name = "_OTHER", "HTTP "+x.route.path
	}
	attrs = append(attrs, tracing.String("http.request.method", method))
	if c := ownerOf(x); c != nil {
		attrs = append(attrs, tracing.String("petstore.tenant", c.Tenant.Name), tracing.Int("petstore.tenant_id", c.Tenant.ID),
			tracing.String("petstore.key", c.KeyID))
	}
	failed := ""
	if x.failed != nil {
		attrs = append(attrs, tracing.String("petstore.code", x.failed.code.name))
		if reason := failureReason(x); reason != "" {
			attrs = append(attrs, tracing.String("petstore.reason", reason))
		}
		if isTrouble(x, status) {
			failed = x.failed.code.name
		}
	}
	x.traceID = x.trace.End(name, failed, attrs...)
}

// traceOf returns the ID of the trace that a request is part of, for the log: of the one that is exported, or else of the client's. It is ""
// if there is none.
func traceOf(x *exchange) string {
	if x.traceID != "" {
		return x.traceID
	}
	if _, ok := x.Request.Header["Traceparent"]; !ok {
		return ""
	}
	if parent := tracing.ParentOf(x.Request.Header); parent.Valid() {
		return parent.Trace.String()
	}
	return ""
}
