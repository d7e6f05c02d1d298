package server

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"

	"petstore.example/internal/envvars"
	"petstore.example/internal/server/config"
	"petstore.example/internal/tracing"
)

// flushTime bounds the export of the remaining spans when the server stops.
const flushTime = 5 * time.Second

// startTracing returns the tracer of requests, nil for none, and registers its metrics. stop
// exports the remaining spans.
func startTracing(
	cfg *config.Config,
	server, version string,
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
	host, _ := os.Hostname() // On an error host stays empty.
	tracing.LogTo(log)
	environ, _ := envvars.Clean(os.Environ())
	for _, variable := range config.TracingVariables(environ) { // The SDK reads the process's environment.
		name, value, _ := strings.Cut(variable, "=")
		_ = os.Setenv(name, value)
	}
	t = tracing.Start(
		cfg.Tracing,
		log,
		func(result string, n int) { spans.WithLabelValues(result).Add(float64(n)) },
		attribute.String(
			"service.version",
			version,
		),
		attribute.String("service.instance.id", server),
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

// traceQueries returns the function that traces a request's statements, nil if nothing is traced.
func traceQueries(cfg *config.Config) func(context.Context, string) (context.Context, func(error)) {
	if !cfg.Tracing.On {
		return nil
	}
	return tracing.Query
}
