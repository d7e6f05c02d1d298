package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caarlos0/env/v11"

	"petstore.example/internal/envvars"
	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox"
)

func TestConfigNamesAllMistakesOnce(t *testing.T) {
	t.Parallel()
	_, err := Read([]string{
		"PETSTORE_DATABASE_URL=postgres://u:hunter2@h/db",
		"PETSTORE_DATABASE_URL_FILE=/hunter3",
		"PETSTORE_REDIS_URL=unix:///hunter2",
		"PETSTORE_REDIS_URL_FILE=unix:///hunter2",
		"PETSTORE_REDIS_TIMEOUT=abc",
		"PETSTORE_SECRETS_KEY=hunter2",
		"PETSTORE_SECRETS_KEY_FILE=hunter2@",
		"PETSTORE_WEBHOOK_DENY=inside",
		"PETSTORE_WEBHOOK_PORTS=443,65536",
		"PETSTORE_SMTP_URL=smtp://u:hunter2@h",
		"PETSTORE_SMTP_URL_FILE=/hunter3",
		"PETSTORE_MAIL_FROM=x\r\ny",
		"PETSTORE_ADDR=8080",
		"PETSTORE_ADMIN_ADDR=x",
		"PETSTORE_ENVIRONMENT=prod",
		"PETSTORE_BASE_URL=https://u:hunter2@h/v1",
		"PETSTORE_SUPPORT_URL=http://support.example.org",
		"PETSTORE_SUPPORT_EMAIL=Support <support@example.org>",
		"PETSTORE_TRUSTED_PROXIES=10.0.0.0/8,nobody",
		"PETSTORE_ADDRESS_LIMIT=0",
		"PETSTORE_MAX_CONNECTIONS=0",
		"PETSTORE_MAX_CONNECTIONS_PER_ADDRESS=-1",
		"PETSTORE_LIST_CACHE_BYTES=-1",
		"PETSTORE_BODY_BYTES=4194303",
		"PETSTORE_UNSENT_BYTES=4194303",
		"PETSTORE_HTTP_FAST_PATH=maybe",
		"PETSTORE_LOG_LEVEL=loud",
		"PETSTORE_LOG_FORMAT=xml",
		"PETSTORE_PPROF=maybe",
		"PETSTORE_DRAIN_DELAY=-1s",
		"PETSTORE_STOP_TIMEOUT=0s",
		"PETSTORE_ALLOW_OWNER=perhaps",
	})
	if err == nil {
		t.Fatal("the configuration is taken")
	}
	for _, p := range parameters(t) {
		if n := len(regexp.MustCompile(p.Key+`\b`).FindAllString(err.Error(), -1)); n != 1 {
			t.Errorf("%s is named %d times, want once, in:\n%v", p.Key, n, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "strconv") {
		t.Errorf("a secret, or Go's own words, in:\n%v", err)
	}
}

// TestConfigWords: switches and words of choice have one alphabet, in any case, with blanks around.
func TestConfigWords(t *testing.T) {
	t.Parallel()
	for _, words := range [][2]string{{"on", "off"}, {"TRUE", "False"}, {"Yes", "NO"}, {"1", "0"},
		{"\ufefftrue\r\n", " false "}} {
		for i, want := range []envvars.Switch{true, false} {
			cfg, err := Read([]string{
				"PETSTORE_DATABASE_URL= postgres://u@h/db\n", "PETSTORE_HTTP_FAST_PATH=" + words[i],
				"PETSTORE_PPROF=" + words[i], "PETSTORE_ALLOW_OWNER=" + words[i], "PETSTORE_LOG_LEVEL=Info",
				"PETSTORE_LOG_FORMAT=JSON", "PETSTORE_ENVIRONMENT=\ufeffStaging",
				"PETSTORE_TRUSTED_PROXIES=\ufeff10.0.0.1, 192.168.0.0/16 ,\t::1,",
				"OTEL_EXPORTER_OTLP_ENDPOINT=\ufeffhttp://c:4318 ", "OTEL_TRACES_EXPORTER=OTLP",
			})
			assert.NoError(t, err)
			switches := []envvars.Switch{cfg.HTTPFastPath, cfg.Pprof, cfg.AllowOwner}
			assert.DeepEqual(t, switches, []envvars.Switch{want, want, want}, words[i])
			text := []string{cfg.LogLevel, cfg.LogFormat, cfg.Environment, string(cfg.Keys()), string(cfg.DatabaseURL)}
			assert.DeepEqual(t, text, []string{"info", "json", "staging", "test", "postgres://u@h/db"})
			assert.DeepEqual(t, cfg.TrustedProxies, list{"10.0.0.1", "192.168.0.0/16", "::1"})
			assert.True(t, cfg.Tracing.On, "tracing")
		}
	}
	_, err := Read([]string{"PETSTORE_DATABASE_URL=postgres://u@h/db", "PETSTORE_BASE_URL=\xff\xfeh\x00"})
	assert.True(t, err != nil && strings.Contains(err.Error(), "PETSTORE_BASE_URL is UTF-16: save it as UTF-8"), err)
}

// TestConfigOfFiles: a URL is checked, redacted and used alike whether a variable or its file holds
// it.
func TestConfigOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database, redis := filepath.Join(dir, "database_url"), filepath.Join(dir, "redis_url")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		assert.NoError(t, errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)))
	}
	environ := []string{"PETSTORE_DATABASE_URL_FILE=" + database, "PETSTORE_REDIS_URL_FILE=" + redis}
	write(database, "postgres://u:hunter2@h/db\n", 0o600)
	write(redis, "redis://:hunter2@h:6379/0", 0o604)
	cfg, err := Read(environ)
	assert.NoError(t, err)
	if cfg.DatabaseURL != "postgres://u:hunter2@h/db" || cfg.RedisURL != "redis://:hunter2@h:6379/0" {
		t.Errorf("the URLs are %q and %q", string(cfg.DatabaseURL), string(cfg.RedisURL))
	}
	if w := cfg.Warnings["secrets"]; len(cfg.Warnings) != 1 || !strings.Contains(w, redis) ||
		strings.Contains(w, database) {
		t.Errorf("warnings %q, want one on %s", cfg.Warnings, redis)
	}
	if text := fmt.Sprintf(
		"%v %+v %#v %v",
		cfg,
		cfg,
		cfg,
		cfg.values(),
	); strings.Contains(text, "hunter2") ||
		!strings.Contains(text, database) {
		t.Errorf("the configuration prints a secret, or not the name of its file: %s", text)
	}
	write(database, "mysql://u:hunter2@h/db", 0o600)
	write(redis, "hunter2", 0o600)
	if _, err = Read(environ); err == nil || strings.Contains(err.Error(), "hunter2") ||
		!strings.Contains(
			err.Error(),
			"PETSTORE_DATABASE_URL_FILE: ",
		) || !strings.Contains(err.Error(), "PETSTORE_REDIS_URL_FILE: ") {
		t.Errorf("%v: want a mistake in each file, without its content", err)
	}
}

// TestConfigOfMail: mail needs a relay, a sender, and a key of which links are made.
func TestConfigOfMail(t *testing.T) {
	t.Parallel()
	const from = "PETSTORE_MAIL_FROM=Store <a@b.c>\n"
	key := "PETSTORE_SECRETS_KEY=" + strings.Repeat("A", 43) + "=\n"
	for environ, want := range map[string]string{
		"":         "",
		from + key: "",
		from + "PETSTORE_SMTP_URL=smtp://u:hunter2@h":        "PETSTORE_SMTP_URL: mail needs PETSTORE_SECRETS_KEY too",
		key + "PETSTORE_SMTP_URL=smtp://u:hunter2@h":         `PETSTORE_MAIL_FROM is "": want an address`,
		from + key + "PETSTORE_SMTP_URL=http://u:hunter2@h":  "PETSTORE_SMTP_URL: want smtp://user:password@host:587",
		from + key + "PETSTORE_SMTP_URL=smtps://u:hunter2@h": "",
	} {
		cfg, err := Read(append([]string{"PETSTORE_DATABASE_URL=postgres://h/db"}, strings.Split(environ, "\n")...))
		assert.True(
			t,
			(err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)),
			environ,
			err,
		)
		if err == nil {
			assert.Equal(t, cfg.Mail != nil, strings.Contains(environ, "SMTP"), environ)
		}
		text := fmt.Sprintf("%v %+v %#v %v %v", cfg, cfg, cfg, cfg.values(), err)
		assert.True(t, !strings.Contains(text, "hunter2"), text)
	}
}

// TestConfigUnknownVariable: a variable that no program reads is a mistake. Those of petstorectl
// and of Kubernetes are none.
func TestConfigUnknownVariable(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PETSTORE_DATABASE_URL=postgres://h/db",
		"PETSTORE_PROFILE=production",
		"PETSTORE_SERVICE_HOST=10.0.0.1",
		"PETSTORE_PORT=tcp://10.0.0.1:80",
	}
	_, err := Read(environ)
	assert.Equal(t, err, nil)
	_, err = Read(append(environ, "PETSTORE_DRAIN_DELEY=5s"))
	if want := "PETSTORE_DRAIN_DELEY is no variable of petstore: did you mean PETSTORE_DRAIN_DELAY?"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestConfigIsKnown: every setting is in the list of variables, which petstorectl uses too.
func TestConfigIsKnown(t *testing.T) {
	t.Parallel()
	for _, p := range parameters(t) {
		if !slices.Contains(envvars.Names(), p.Key) {
			t.Errorf("%s is not in the list of internal/envvars", p.Key)
		}
	}
}

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := Read([]string{"PETSTORE_DATABASE_URL=postgres://h/db"})
	assert.NoError(t, err)
	assert.Equal(t, cfg.BaseURL, "http://localhost:8080/v1", "base URL")
	assert.Equal(t, cfg.Keys(), "live", "keys")
	if text := fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg); strings.Contains(text, "postgres://") {
		t.Errorf("the configuration prints a secret: %s", text)
	}
}

// Each setting is described in the document, with its default, and printed by petstore config.
func TestConfigIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/configuration.md")
	assert.NoError(t, err)
	documented := map[string]string{}
	rows := regexp.MustCompile("(?m)^\\| `(PETSTORE_[A-Z_]+)` \\| ([^|]*) \\|")
	for _, row := range rows.FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = strings.Trim(row[2], "`")
	}
	params := parameters(t)
	for _, p := range params {
		shown, ok := documented[p.Key]
		assert.True(t, ok, p.Key, "is not in docs/configuration.md")
		if p.DefaultValue != "" && shown != p.DefaultValue {
			t.Errorf("%s: the document has the default %q, want %q", p.Key, shown, p.DefaultValue)
		}
		delete(documented, p.Key)
	}
	if len(documented) > 0 {
		t.Errorf("docs/configuration.md describes settings that there are not: %v", documented)
	}
	assert.Equal(t, len((&Config{}).values()), len(params), "petstore config prints")
}

func parameters(t *testing.T) []env.FieldParams {
	t.Helper()
	all, err := env.GetFieldParamsWithOptions(&Config{}, env.Options{Prefix: envPrefix})
	assert.NoError(t, err)
	return all
}

// TestConfigOfTracing: mistakes in OpenTelemetry's variables are listed with the others, and
// neither they nor the configuration show a header.
func TestConfigOfTracing(t *testing.T) {
	t.Parallel()
	_, err := Read([]string{
		"PETSTORE_DATABASE_URL=postgres://h/db", "PETSTORE_ADDR=x", "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4317",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_HEADERS=api key=hunter2",
	})
	for _, want := range []string{
		"PETSTORE_ADDR", "OTEL_EXPORTER_OTLP_PROTOCOL is grpc: want http/protobuf or http/json",
		"OTEL_EXPORTER_OTLP_HEADERS: item 1",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	environ := []string{
		"PETSTORE_DATABASE_URL=postgres://h/db",
		"OTEL_EXPORTER_OTLP_HEADERS=api-key=hunter2",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318",
	}
	cfg, err := Read(environ)
	if err != nil || !cfg.Tracing.On {
		t.Fatalf("%v, on %v", err, cfg.Tracing.On)
	}
	var printed strings.Builder
	printTracing(&printed, environ)
	want := "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318\nOTEL_EXPORTER_OTLP_HEADERS=" + redacted + "\n"
	assert.Equal(t, printed.String(), want, "printed")
	if text := fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg); strings.Contains(text, "hunter2") {
		t.Errorf("the configuration prints a header: %s", text)
	}
}

// TestTracingHeadersFromAFile: the headers may be in a file, and a mistake about it shows nothing
// of it.
func TestTracingHeadersFromAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "headers")
	assert.NoError(t, os.WriteFile(file, []byte("api-key=hunter2\n"), 0o644))
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"
	for variables, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS_FILE=" + file:        "",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS_FILE=" + file: "",
		"OTEL_EXPORTER_OTLP_HEADERS_FILE=" + file +
			"/none": "OTEL_EXPORTER_OTLP_HEADERS_FILE: ",
		"OTEL_EXPORTER_OTLP_HEADERS_FILE=api-key=hunter2": "OTEL_EXPORTER_OTLP_HEADERS_FILE has the value itself",
		"OTEL_EXPORTER_OTLP_HEADERS_FILE=" + file +
			"\nOTEL_EXPORTER_OTLP_HEADERS=api-key=hunter2": "OTEL_EXPORTER_OTLP_HEADERS and " +
			"OTEL_EXPORTER_OTLP_HEADERS_FILE are both set",
		"OTEL_TRACES_EXPORTER=none\nOTEL_EXPORTER_OTLP_HEADERS_FILE=" + file + "/not-read-if-nothing-is-exported": "",
	} {
		cfg, err := Read(
			append([]string{"PETSTORE_DATABASE_URL=postgres://h/db", endpoint}, strings.Split(variables, "\n")...),
		)
		if (err == nil) != (want == "") ||
			err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v, want %q", variables, err, want)
		}
		if warned := strings.Contains(
			fmt.Sprint(cfg.Warnings),
			file,
		); err == nil &&
			warned == strings.Contains(variables, "EXPORTER=none") {
			t.Errorf("%s: warnings %v", variables, cfg.Warnings)
		}
	}
	var printed strings.Builder
	printTracing(
		&printed,
		[]string{"OTEL_EXPORTER_OTLP_HEADERS_FILE=" + file, "OTEL_EXPORTER_OTLP_TRACES_HEADERS_FILE=api-key=hunter2"},
	)
	if want := "OTEL_EXPORTER_OTLP_HEADERS_FILE=" + file + "\nOTEL_EXPORTER_OTLP_TRACES_HEADERS_FILE=" + redacted +
		"\n"; printed.String() != want {
		t.Errorf("printed %q, want %q", printed.String(), want)
	}
}
