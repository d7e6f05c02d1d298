package tracing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	_ "petstore.example/internal/test/sandbox"
)

// TestEndpoint: which variable names the collector, and what turns traces off. What is off is not checked further.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	const all, own = otlpAll + "ENDPOINT", otlpTraces + "ENDPOINT"
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"for all signals":  {map[string]string{all: "http://c:4318"}, "http://c:4318/v1/traces"},
		"with a path":      {map[string]string{all: "https://c/otlp/"}, "https://c/otlp/v1/traces"},
		"for traces":       {map[string]string{all: "http://c:4318", own: "http://traces:4318/else"}, "http://traces:4318/else"},
		"disabled":         {map[string]string{all: "http://c:4318", disabled: "TRUE", samplerVar: "wrong"}, ""},
		"another exporter": {map[string]string{all: "http://c:4318", exporter: "none", otlpAll + "PROTOCOL": "grpc"}, ""},
		"not set":          {map[string]string{otlpAll + "PROTOCOL": "grpc", samplerVar: "wrong"}, ""},
	} {
		got, mistakes := ReadConfig(func(name string) string { return c.env[name] })
		if got.Endpoint != c.want || len(mistakes) > 0 {
			t.Errorf("%s: %q, %q, want %q", name, got.Endpoint, mistakes, c.want)
		}
	}
}

// TestMistakes: each is one sentence that names its variable. None shows what may be a secret.
func TestMistakes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for variable, values := range map[string][]string{
		otlpAll + "ENDPOINT":    {"collector:4318", "grpc://c", "http://", "http://u:hunter2@c", "http://c?key=hunter2", "%"},
		otlpTraces + "PROTOCOL": {"grpc", "http/json", "x"},
		otlpAll + "HEADERS":     {"hunter2", "=hunter2", "a b=hunter2", "a=hunter2%zz", "a=hunter2%0d%0ab"},
		otlpTraces + "TIMEOUT":  {"10s", "0", "-1"},
		otlpAll + "COMPRESSION": {"zstd"},
		otlpAll + "CERTIFICATE": {"/nowhere/ca.pem", file},
		samplerVar:              {"xray", "parentbased_"},
		attributes:              {"zone", "=a", "a=%zz"},
		exporter:                {"zipkin"},
	} {
		for _, v := range values {
			env := map[string]string{otlpAll + "ENDPOINT": "http://c", variable: v}
			_, mistakes := ReadConfig(func(name string) string { return env[name] })
			if len(mistakes) != 1 || !strings.HasPrefix(mistakes[0], variable) || strings.Contains(mistakes[0], "hunter2") {
				t.Errorf("%s=%s: %q", variable, v, mistakes)
			}
		}
	}
	for _, ratio := range []string{"2", "-1", "NaN", "x"} {
		env := map[string]string{otlpAll + "ENDPOINT": "http://c", samplerVar: "traceidratio", samplerArg: ratio}
		if _, mistakes := ReadConfig(func(name string) string { return env[name] }); len(mistakes) != 1 {
			t.Errorf("ratio %s: %q", ratio, mistakes)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	c := configured(t, "https://c", otlpAll+"TIMEOUT", "2500", otlpTraces+"COMPRESSION", "gzip", otlpAll+"HEADERS", " api-key = a%2Cb ,x=,")
	if c.timeout != 2500*time.Millisecond || !c.gzip || c.sampler != (sampler{ratio: 1, parentBased: true}) {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff(map[string][]string{"Api-Key": {"a,b"}, "X": {""}}, map[string][]string(c.headers())); diff != "" {
		t.Errorf("headers (-want +got)\n%s", diff)
	}
}
