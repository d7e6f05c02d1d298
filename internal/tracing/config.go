package tracing

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/net/http/httpguts"
)

// Config decides whether traces are exported, and has the settings that the SDK does not read. The
// zero Config exports none.
type Config struct {
	// On is true if a collector is configured.
	On    bool
	queue int64
	// share is how many of the requests without a parent are exported, from 0 to 1, for the
	// samplers that leave all others to their parents. It is 1 if the SDK decides.
	share float64
	// headers returns the headers of each request. It is a function so that printing the
	// configuration does not show them.
	headers func() map[string]string
}

// prefixes begin the variables for all signals, and the variables for traces, which win.
var prefixes = []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"}

// IsSecret reports whether the value of the variable must not be shown.
func IsSecret(variable string) bool { return strings.HasSuffix(variable, "_HEADERS") }

// ReadConfig reads the variables by get, which returns "" for an unset one, and for a secret also
// the content of its file. It returns mistakes in them, each as a sentence that begins with the
// variable. No sentence shows a possible secret. With such a mistake the SDK, which logs values, is
// not started. Without an endpoint, ReadConfig looks at nothing else.
//
//nolint:funlen // one variable after the other
func ReadConfig(get func(name string) string) (c Config, mistakes []string) {
	wrong := func(format string, args ...any) { mistakes = append(mistakes, fmt.Sprintf(format, args...)) }
	exporter := strings.ToLower(get("OTEL_TRACES_EXPORTER"))
	if exporter == "none" || strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") {
		return Config{}, nil
	}
	if exporter != "" && exporter != "otlp" {
		wrong("OTEL_TRACES_EXPORTER is %q: want otlp or none", exporter)
	}
	for _, name := range []string{prefixes[0] + "ENDPOINT", prefixes[1] + "ENDPOINT"} {
		if v := get(name); v != "" {
			c.On = true
			if u, err := url.Parse(v); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
				u.User != nil {
				wrong(
					"%s is no URL of a collector: want one such as http://collector:4318, and a password in "+
						"OTEL_EXPORTER_OTLP_HEADERS",
					name,
				)
			}
		}
	}
	if !c.On {
		return c, mistakes
	}
	var headers map[string]string
	for _, prefix := range prefixes {
		if v := strings.ToLower(get(prefix + "PROTOCOL")); v != "" && v != "http/protobuf" && v != "http/json" {
			wrong(
				"%sPROTOCOL is %s: want http/protobuf or http/json, and the collector's port for HTTP, usually 4318",
				prefix,
				v,
			)
		}
		if v := get(prefix + "HEADERS"); v != "" {
			headers = readHeaders(v, func(item int) {
				wrong(
					"%sHEADERS: item %d is no header: want name=value, separated by commas, with percent-encoded "+
						"values",
					prefix,
					item,
				)
			})
		}
	}
	c.share = 1
	switch strings.ToLower(strings.TrimSpace(get("OTEL_TRACES_SAMPLER"))) {
	case "parentbased_always_off":
		c.share = 0
	case "parentbased_traceidratio":
		if v, err := strconv.ParseFloat(
			strings.TrimSpace(get("OTEL_TRACES_SAMPLER_ARG")),
			64,
		); err == nil && v >= 0 &&
			v < 1 {
			c.share = v
		}
	}
	c.headers = func() map[string]string { return headers }
	if c.queue, _ = strconv.ParseInt(get("OTEL_BSP_MAX_QUEUE_SIZE"), 10, 32); c.queue <= 0 {
		c.queue = sdk.DefaultMaxQueueSize
	}
	return c, mistakes
}

// readHeaders reads name=value pairs, separated by commas, with percent-encoded values.
func readHeaders(list string, wrong func(item int)) map[string]string {
	all := map[string]string{}
	for i, pair := range strings.Split(strings.TrimRight(list, ", "), ",") {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			wrong(i + 1)
		}
		all[name] = value
	}
	return all
}
