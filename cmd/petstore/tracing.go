package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"petstore.example/internal/envvars"
	"petstore.example/internal/tracing"
)

// flushTime is how long the export of what is left may take when the server stops.
const flushTime = 5 * time.Second

// startTracing returns what traces requests, nil for nothing, and registers its metrics. stop exports what is left.
func startTracing(cfg config, serverID string, r prometheus.Registerer, log zerolog.Logger) (t *tracing.Tracer, stop func()) {
	host, _ := os.Hostname() // It is left empty.
	t = tracing.Start(cfg.tracing, log,
		tracing.String("service.version", versionText()), tracing.String("service.instance.id", serverID), tracing.String("host.name", host),
		tracing.Int("process.pid", int64(os.Getpid())), tracing.String("deployment.environment.name", cfg.Environment),
	)
	registerTracing(t, r)
	return t, func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		t.Stop(ctx)
	}
}

func registerTracing(t *tracing.Tracer, r prometheus.Registerer) {
	for result, count := range map[string]func(tracing.Counts) int64{
		"exported": func(c tracing.Counts) int64 { return c.Exported },
		"dropped":  func(c tracing.Counts) int64 { return c.Dropped },
		"failed":   func(c tracing.Counts) int64 { return c.Failed },
	} {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "petstore_trace_spans_total",
			Help:        "Spans of traces by result: exported, dropped because the queue was full, or failed because the collector did not take them.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(count(t.Counts())) }))
	}
}

// traceQueries returns what traces the statements of a request, nil if nothing is traced.
func (c *config) traceQueries() func(context.Context, string) (context.Context, func(error)) {
	if c.tracing.Endpoint == "" {
		return nil
	}
	return tracing.Query
}

// traceScripts returns what traces the scripts of a request in Redis, nil if nothing is traced.
func (c *config) traceScripts() func(context.Context, string) (context.Context, func(error)) {
	if c.tracing.Endpoint == "" {
		return nil
	}
	return tracing.Script
}

// tracingVariable returns the value of a variable of OpenTelemetry. That of a secret one may be in a file.
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

// printTracing prints the variables of OpenTelemetry that are set, without secrets.
func printTracing(to io.Writer, get func(name string) string) {
	for _, name := range tracing.Variables() {
		v := get(name)
		if v == "" {
			continue
		}
		switch {
		case tracing.IsSecret(name), strings.Contains(v, "@"):
			v = redacted
		case strings.HasSuffix(name, envvars.FileSuffix):
			v = fileName(v).String()
		}
		_, _ = fmt.Fprintf(to, "%s=%s\n", name, v)
	}
}

// tracingVariables returns the variables of OpenTelemetry that are set, as in os.Environ.
func tracingVariables() (all []string) {
	for _, name := range tracing.Variables() {
		all = append(all, name+"="+os.Getenv(name))
	}
	return all
}
