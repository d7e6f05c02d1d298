package tracing

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Query starts the span of a statement in Postgres. The span is named after the operation and its
// table, such as "select pets", and never shows an argument. Query returns the context of the call.
// end must be called with the call's error; it is nil if ctx belongs to no exported trace.
func Query(ctx context.Context, statement string) (_ context.Context, end func(error)) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nil
	}
	name := summary(statement)
	ctx, span := parent.TracerProvider().Tracer(scope).Start(
		ctx,
		name,
		trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("db.system.name", "postgresql"),
			attribute.String("db.query.summary", name),
		),
	)
	return ctx, func(err error) {
		if err != nil {
			Fail(span, errorType(err))
		}
		span.End()
	}
}

// Fail marks a span as failed. kind is its error.type.
func Fail(span trace.Span, kind string) {
	span.SetStatus(codes.Error, "")
	span.SetAttributes(attribute.String("error.type", kind))
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

// summaries are the summaries of traced statements. A server has some dozens.
var summaries sync.Map

func summary(statement string) string {
	if s, ok := summaries.Load(statement); ok {
		return s.(string)
	}
	s := summarize(statement)
	summaries.Store(statement, s)
	return s
}

var (
	notWords = regexp.MustCompile(`--[^\n]*|'[^']*'`) // comments and texts
	changes  = regexp.MustCompile(`\b(?:(for|key|do|or)\s+)?(insert\s+into|delete\s+from|update)\s+([\w.]+)`)
	names    = regexp.MustCompile(`(\w+)\s+as\s+(?:materialized\s*)?\(`) // names given by "with"
	reads    = regexp.MustCompile(`\b(?:from|join)\s+([\w.]+)`)
	calls    = regexp.MustCompile(`\bselect\s[^(]*?([\w.]+)\(`)
)

// summarize returns the operation of a statement and its table or function: the first one that it
// changes, otherwise the first that it reads.
func summarize(statement string) string {
	statement = notWords.ReplaceAllString(strings.ToLower(statement), "")
	for _, m := range changes.FindAllStringSubmatch(statement, -1) {
		if m[1] == "" {
			return strings.Fields(m[2])[0] + " " + m[3]
		}
	}
	known := []string{"lateral", "only", "unnest"}
	for _, m := range names.FindAllStringSubmatch(statement, -1) {
		known = append(known, m[1])
	}
	for _, m := range reads.FindAllStringSubmatch(statement, -1) {
		if !slices.Contains(known, m[1]) {
			return "select " + m[1]
		}
	}
	if m := calls.FindStringSubmatch(statement); m != nil {
		return "select " + m[1]
	}
	first, _, _ := strings.Cut(strings.TrimSpace(statement), " ")
	return first
}
