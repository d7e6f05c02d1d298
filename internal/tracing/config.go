package tracing

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config is where traces go, and which. Without an endpoint none are made.
type Config struct {
	// Endpoint is the URL that takes them, "" for none.
	Endpoint string

	sampler sampler
	// headers returns the headers of each request. It is a function so that a configuration that is printed does not show them.
	headers func() http.Header
	gzip    bool
	timeout time.Duration
	// roots are the authorities of the collector's certificate, nil for the system's.
	roots *x509.CertPool
	// own are the attributes of the resource that are configured.
	own []Attr
}

// The standard variables that are read (docs/configuration.md). Those of a signal win over the general ones.
const (
	disabled   = "OTEL_SDK_DISABLED"
	exporter   = "OTEL_TRACES_EXPORTER"
	samplerVar = "OTEL_TRACES_SAMPLER"
	samplerArg = "OTEL_TRACES_SAMPLER_ARG"
	service    = "OTEL_SERVICE_NAME"
	attributes = "OTEL_RESOURCE_ATTRIBUTES"
	otlpAll    = "OTEL_EXPORTER_OTLP_"
	otlpTraces = "OTEL_EXPORTER_OTLP_TRACES_"
)

// otlpNames are the ends of the variables that there are for all signals and for traces.
var otlpNames = []string{"ENDPOINT", "PROTOCOL", "HEADERS", "HEADERS_FILE", "TIMEOUT", "COMPRESSION", "CERTIFICATE"}

// Variables returns the names of all variables that are read, sorted.
func Variables() []string {
	all := []string{disabled, exporter, samplerVar, samplerArg, service, attributes}
	for _, name := range otlpNames {
		all = append(all, otlpAll+name, otlpTraces+name)
	}
	slices.Sort(all)
	return all
}

// IsSecret reports whether the value of the variable must not be shown.
func IsSecret(variable string) bool { return strings.HasSuffix(variable, "_HEADERS") }

// reader reads variables and notes mistakes. No text of a mistake holds the value of a header.
type reader struct {
	get      func(name string) string
	mistakes []string
}

func (r *reader) wrong(format string, args ...any) {
	r.mistakes = append(r.mistakes, fmt.Sprintf(format, args...))
}

// otlp returns the value for traces, or else the one for all signals, and the name of its variable.
func (r *reader) otlp(name string) (value, variable string) {
	if v := r.get(otlpTraces + name); v != "" {
		return v, otlpTraces + name
	}
	return r.get(otlpAll + name), otlpAll + name
}

// ReadConfig reads the variables by get, which returns "" for one that is not set, and of a secret one also what its file has. It returns all
// mistakes in them, each as a sentence that begins with the variable. Without an endpoint it looks at nothing else.
func ReadConfig(get func(name string) string) (Config, []string) {
	r := &reader{get: get}
	var c Config
	if strings.EqualFold(get(disabled), "true") {
		return c, nil
	}
	switch v := get(exporter); v {
	case "", "otlp":
	case "none":
		return c, nil
	default:
		r.wrong("%s is %q: want otlp or none", exporter, v)
		return c, r.mistakes
	}
	if c.Endpoint = r.endpoint(); c.Endpoint == "" {
		return c, r.mistakes
	}
	if v, name := r.otlp("PROTOCOL"); v == "grpc" || v == "http/json" {
		r.wrong("%s is %s: petstore sends http/protobuf only; set it to that, and the endpoint to the collector's port for HTTP, usually 4318", name, v)
	} else if v != "" && v != "http/protobuf" {
		r.wrong("%s is %q: want http/protobuf", name, v)
	}
	headers := r.headers()
	c.headers = func() http.Header { return headers }
	c.sampler, c.gzip, c.timeout, c.roots = r.sampler(), r.compression(), r.timeout(), r.certificate()
	c.own = r.attributes()
	return c, r.mistakes
}

// endpoint returns the URL of the traces.
func (r *reader) endpoint() string {
	v, name := r.otlp("ENDPOINT")
	if v == "" {
		return ""
	}
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		r.wrong("%s is no URL of a collector: want one such as http://collector:4318", name)
		return ""
	case u.User != nil:
		r.wrong("%s holds a password: set it in %sHEADERS, as in Authorization=Basic%%20…", name, otlpAll)
		return ""
	}
	if name == otlpAll+"ENDPOINT" {
		u = u.JoinPath("v1", "traces")
	}
	return u.String()
}

func (r *reader) sampler() sampler {
	name := r.get(samplerVar)
	if name == "" {
		name = "parentbased_always_on"
	}
	root, parentBased := strings.CutPrefix(name, "parentbased_")
	s := sampler{parentBased: parentBased}
	switch root {
	case "always_on":
		s.ratio = 1
	case "always_off":
	case "traceidratio":
		s.ratio = 1
		if v := r.get(samplerArg); v != "" {
			ratio, err := strconv.ParseFloat(v, 64)
			if err != nil || !(ratio >= 0 && ratio <= 1) {
				r.wrong("%s is %q: want a number from 0 to 1, such as 0.01", samplerArg, v)
			}
			s.ratio = ratio
		}
	default:
		r.wrong("%s is %q: want always_on, always_off or traceidratio, or one of these after parentbased_", samplerVar, name)
	}
	return s
}

// headers reads name=value pairs, separated by commas, with percent-encoded values.
func (r *reader) headers() http.Header {
	v, variable := r.otlp("HEADERS")
	h := http.Header{}
	for i, pair := range split(v) {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || !isHeader(name, value) {
			r.wrong("%s: item %d is no header: want name=value, separated by commas, with percent-encoded values", variable, i+1)
			continue
		}
		h.Set(name, value)
	}
	return h
}

// isHeader reports whether a request may have the header. net/http checks it again, when it is sent.
func isHeader(name, value string) bool {
	token := func(c rune) bool { return c > ' ' && c <= '~' && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) }
	control := func(c rune) bool { return c < ' ' || c == 0x7f }
	return name != "" && strings.IndexFunc(name, func(c rune) bool { return !token(c) }) < 0 && !strings.ContainsFunc(value, control)
}

func (r *reader) compression() (gzip bool) {
	v, name := r.otlp("COMPRESSION")
	if v != "" && v != "none" && v != "gzip" {
		r.wrong("%s is %q: want gzip or none", name, v)
	}
	return v == "gzip"
}

func (r *reader) timeout() time.Duration {
	v, name := r.otlp("TIMEOUT")
	if v == "" {
		return 10 * time.Second
	}
	ms, err := strconv.Atoi(v)
	if err != nil || ms <= 0 || ms > 600_000 {
		r.wrong("%s is %q: want a number of milliseconds, such as 10000", name, v)
	}
	return time.Duration(ms) * time.Millisecond
}

func (r *reader) certificate() *x509.CertPool {
	path, name := r.otlp("CERTIFICATE")
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path) //nolint:gosec // The operator names the file.
	if err != nil {
		r.wrong("%s: %v", name, err)
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		r.wrong("%s: %s holds no certificate in PEM form", name, path)
	}
	return pool
}

// attributes reads those of the resource. The service's name has a variable of its own.
func (r *reader) attributes() (all []Attr) {
	for i, pair := range split(r.get(attributes)) {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || name == "" {
			r.wrong("%s: item %d is no attribute: want name=value, separated by commas, with percent-encoded values", attributes, i+1)
			continue
		}
		all = append(all, String(name, value))
	}
	if v := r.get(service); v != "" {
		all = append(all, String("service.name", v))
	}
	return all
}

// resource returns the attributes of this server, of which those win that are configured.
func (c Config) resource(of []Attr) []Attr {
	all := append([]Attr{String("service.name", "petstore")}, of...)
	for _, own := range c.own {
		all = slices.DeleteFunc(all, func(a Attr) bool { return a.key == own.key })
		all = append(all, own)
	}
	return all
}

func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return strings.TrimSpace(s) == "" })
}
