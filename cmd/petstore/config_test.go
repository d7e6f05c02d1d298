package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/caarlos0/env/v11"
)

func TestConfigNamesAllMistakesOnce(t *testing.T) {
	t.Parallel()
	_, err := readConfig(map[string]string{
		"PETSTORE_DATABASE_URL":                "postgres://u:hunter2@h:99999/db",
		"PETSTORE_REDIS_URL":                   "unix:///hunter2",
		"PETSTORE_REDIS_TIMEOUT":               "abc",
		"PETSTORE_ADDR":                        "8080",
		"PETSTORE_ADMIN_ADDR":                  "x",
		"PETSTORE_ENVIRONMENT":                 "prod",
		"PETSTORE_BASE_URL":                    "https://u:hunter2@h/v1",
		"PETSTORE_TRUSTED_PROXIES":             "10.0.0.0/8,nobody",
		"PETSTORE_ADDRESS_LIMIT":               "0",
		"PETSTORE_MAX_CONNECTIONS":             "0",
		"PETSTORE_MAX_CONNECTIONS_PER_ADDRESS": "-1",
		"PETSTORE_LIST_CACHE_BYTES":            "-1",
		"PETSTORE_BODY_BYTES":                  "4194303",
		"PETSTORE_HTTP_FAST_PATH":              "yes",
		"PETSTORE_LOG_LEVEL":                   "loud",
		"PETSTORE_LOG_FORMAT":                  "xml",
		"PETSTORE_PPROF":                       "maybe",
		"PETSTORE_DRAIN_DELAY":                 "-1s",
		"PETSTORE_STOP_TIMEOUT":                "0s",
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

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := readConfig(map[string]string{"PETSTORE_DATABASE_URL": "postgres://h/db"})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.BaseURL != "http://localhost:8080/v1" || cfg.keys() != "live" {
		t.Errorf("base URL %q, keys %q", cfg.BaseURL, cfg.keys())
	}
	if text := fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg); strings.Contains(text, "postgres://") {
		t.Errorf("the configuration prints a secret: %s", text)
	}
}

// Each setting is described in the document, with its default, and printed by petstore config.
func TestConfigIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(PETSTORE_[A-Z_]+)` \\| ([^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = strings.Trim(row[2], "`")
	}
	params := parameters(t)
	for _, p := range params {
		shown, ok := documented[p.Key]
		if !ok {
			t.Errorf("%s is not in docs/configuration.md", p.Key)
		}
		if p.DefaultValue != "" && shown != p.DefaultValue {
			t.Errorf("%s: the document has the default %q, want %q", p.Key, shown, p.DefaultValue)
		}
		delete(documented, p.Key)
	}
	if len(documented) > 0 {
		t.Errorf("docs/configuration.md describes settings that there are not: %v", documented)
	}
	if n := len((&config{}).values()); n != len(params) {
		t.Errorf("petstore config prints %d settings of %d", n, len(params))
	}
}

func parameters(t *testing.T) []env.FieldParams {
	t.Helper()
	all, err := env.GetFieldParamsWithOptions(&config{}, env.Options{Prefix: envPrefix})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
