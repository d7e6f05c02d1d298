package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"

	"petstore.example/internal/envvars"
	"petstore.example/internal/tracing"
)

// flushTime is how long the export of what is left may take when the server stops.
const flushTime = 5 * time.Second

// startTracing returns what traces requests, nil for nothing, and registers its metrics. stop
// exports what is left.
func startTracing(
	cfg config,
	serverID string,
	r prometheus.Registerer,
	log zerolog.Logger,
) (t *tracing.Tracer, stop func()) {
	spans := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "petstore_trace_spans_total",
		Help: "Spans of traces by result: exported, dropped because the queue was full, or failed because the " +
			"collector did not take them.",
	}, []string{"result"})
	r.MustRegister(spans)
	for _, result := range []string{"exported", "dropped", "failed"} {
		spans.WithLabelValues(result)
	}
	host, _ := os.Hostname() // It is left empty.
	tracing.LogTo(log)
	environ, _ := envvars.Clean(os.Environ())
	for _, variable := range tracingVariables(environ) { // The SDK reads the process's.
		name, value, _ := strings.Cut(variable, "=")
		_ = os.Setenv(name, value)
	}
	t = tracing.Start(
		cfg.tracing,
		log,
		func(result string, n int) { spans.WithLabelValues(result).Add(float64(n)) },
		attribute.String(
			"service.version",
			versionText(),
		),
		attribute.String("service.instance.id", serverID),
		attribute.String("host.name", host),
		attribute.Int("process.pid", os.Getpid()),
		attribute.String("deployment.environment.name", cfg.Environment),
	)
	return t, func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		t.Stop(ctx)
	}
}

// traceQueries returns what traces the statements of a request, nil if nothing is traced.
func (c *config) traceQueries() func(context.Context, string) (context.Context, func(error)) {
	if !c.tracing.On {
		return nil
	}
	return tracing.Query
}

// tracingVariable returns the value of a variable of OpenTelemetry. That of a secret one may be in
// a file.
func (c *config) tracingVariable(p *problems, variables map[string]string, name string) string {
	if !tracing.IsSecret(name) {
		return variables[name]
	}
	s, err := envvars.ReadSecret(func(name string) string { return variables[name] }, name)
	if err != nil {
		p.add("%v", err)
	}
	if s.Warning != "" {
		c.found.add("secrets", s.Warning)
	}
	return s.Value
}

// tracingVariables returns the variables of OpenTelemetry in an environment, sorted.
func tracingVariables(environ []string) []string {
	all := slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return !strings.HasPrefix(v, "OTEL_") })
	slices.Sort(all)
	return all
}

// printTracing prints the variables of OpenTelemetry in an environment, without secrets.
func printTracing(to io.Writer, environ []string) {
	for _, variable := range tracingVariables(environ) {
		name, v, _ := strings.Cut(variable, "=")
		switch {
		case tracing.IsSecret(name), strings.Contains(v, "@"):
			v = redacted
		case strings.HasSuffix(name, envvars.FileSuffix):
			v = fileName(v).String()
		}
		_, _ = fmt.Fprintf(to, "%s=%s\n", name, v)
	}
}
