package tracing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "petstore.example/internal/test/sandbox"
)

const endpoint, tracesEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"

// TestOn: which variables turn traces on and off. What is off is not checked further.
func TestOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env map[string]string
		on  bool
	}{
		"for all signals": {map[string]string{endpoint: "http://c:4318"}, true},
		"for traces":      {map[string]string{tracesEndpoint: "https://c/else", "OTEL_TRACES_EXPORTER": "otlp"}, true},
		"disabled": {map[string]string{endpoint: "http://c:4318", "OTEL_SDK_DISABLED": "TRUE",
			"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false},
		"another exporter": {map[string]string{endpoint: "http://c:4318", "OTEL_TRACES_EXPORTER": "none",
			"OTEL_EXPORTER_OTLP_HEADERS": "x"}, false},
		"not set": {map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false},
	} {
		got, mistakes := ReadConfig(func(name string) string { return c.env[name] })
		if got.On != c.on || len(mistakes) > 0 {
			t.Errorf("%s: %v, %q, want %v", name, got.On, mistakes, c.on)
		}
	}
}

// TestMistakes: each is one sentence that names its variable, whichever of a pair is used. None
// shows what may be a secret.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for variable, values := range map[string][]string{
		endpoint: {"collector:4318", "grpc://c", "http://", "http://u:hunter2@c",
			"http://u:hunter2@c/%"},
		tracesEndpoint:                       {"http://u:hunter2@c"},
		"OTEL_EXPORTER_OTLP_PROTOCOL":        {"x"},
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": {"grpc"},
		"OTEL_EXPORTER_OTLP_HEADERS": {"hunter2", "=hunter2", "a b=hunter2", "a=hunter2%zz",
			"a=hunter2%0d%0ab"},
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS": {"hunter2"},
		"OTEL_TRACES_EXPORTER":              {"zipkin"},
	} {
		for _, v := range values {
			env := map[string]string{
				endpoint:                            "http://c",
				tracesEndpoint:                      "http://c",
				"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "a=b",
				variable:                            v,
			}
			_, mistakes := ReadConfig(func(name string) string { return env[name] })
			if len(mistakes) != 1 || !strings.HasPrefix(mistakes[0], variable) ||
				strings.Contains(mistakes[0], "hunter2") {
				t.Errorf("%s=%s: %q", variable, v, mistakes)
			}
		}
	}
}

// TestHeadersAreRead: those for traces win, and a configuration that is printed shows none.
func TestHeadersAreRead(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		endpoint:                            "http://c",
		"OTEL_EXPORTER_OTLP_HEADERS":        "a=hunter2",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS": " api-key = hunter2%2Cb ,x=,",
	}
	c, mistakes := ReadConfig(func(name string) string { return env[name] })
	if diff := cmp.Diff(
		map[string]string{"api-key": "hunter2,b", "x": ""},
		c.headers(),
	); diff != "" ||
		len(mistakes) > 0 {
		t.Errorf("%q (-want +got)\n%s", mistakes, diff)
	}
	if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, "hunter2") {
		t.Error(text)
	}
}
