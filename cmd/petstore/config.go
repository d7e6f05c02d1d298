package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"petstore.example/internal/api"
	"petstore.example/internal/envvars"
	"petstore.example/internal/keys"
	"petstore.example/internal/tracing"
)

// config is what `petstore serve` reads from the environment. docs/configuration.md describes each
// setting; a test holds the two together.
type config struct {
	DatabaseURL              secret         `env:"DATABASE_URL"`
	DatabaseURLFile          fileName       `env:"DATABASE_URL_FILE"`
	RedisURL                 secret         `env:"REDIS_URL"`
	RedisURLFile             fileName       `env:"REDIS_URL_FILE"`
	RedisTimeout             time.Duration  `env:"REDIS_TIMEOUT" envDefault:"100ms"`
	Addr                     string         `env:"ADDR" envDefault:":8080"`
	AdminAddr                string         `env:"ADMIN_ADDR" envDefault:"127.0.0.1:8081"`
	Environment              string         `env:"ENVIRONMENT" envDefault:"production"`
	BaseURL                  string         `env:"BASE_URL"`
	SupportURL               string         `env:"SUPPORT_URL"`
	SupportEmail             string         `env:"SUPPORT_EMAIL"`
	TrustedProxies           list           `env:"TRUSTED_PROXIES"`
	AddressLimit             int64          `env:"ADDRESS_LIMIT" envDefault:"6000"`
	MaxConnections           int64          `env:"MAX_CONNECTIONS" envDefault:"20000"`
	MaxConnectionsPerAddress int64          `env:"MAX_CONNECTIONS_PER_ADDRESS" envDefault:"0"`
	ListCacheBytes           int64          `env:"LIST_CACHE_BYTES" envDefault:"33554432"`
	BodyBytes                int64          `env:"BODY_BYTES" envDefault:"67108864"`
	UnsentBytes              int64          `env:"UNSENT_BYTES" envDefault:"134217728"`
	HTTPFastPath             envvars.Switch `env:"HTTP_FAST_PATH" envDefault:"on"`
	LogLevel                 string         `env:"LOG_LEVEL" envDefault:"info"`
	LogFormat                string         `env:"LOG_FORMAT" envDefault:"json"`
	Pprof                    envvars.Switch `env:"PPROF" envDefault:"off"`
	DrainDelay               time.Duration  `env:"DRAIN_DELAY" envDefault:"0s"`
	StopTimeout              time.Duration  `env:"STOP_TIMEOUT" envDefault:"20s"`
	AllowOwner               envvars.Switch `env:"ALLOW_OWNER" envDefault:"off"`

	// addrSet is true if ADDR is set, and not the default.
	addrSet bool
	// dev is set by `petstore dev`, whose login owns the tables.
	dev bool
	// issueKey is the command that issues keys for `petstore dev`.
	issueKey string
	// tracing is read from OpenTelemetry's own variables.
	tracing tracing.Config
	// checked is told of each check of the database, and returns its error.
	checked func(what string, err error) error
	// waiting is told again and again that the server waits for a migration; nil if it does not wait.
	waiting func(text string)
	// found are the warnings about the configuration.
	found warnings
}

const envPrefix = envvars.Prefix

// readConfig returns the configuration of an environment, or an error that lists all mistakes in
// it. The URLs that are in files are read.
func readConfig(environ []string) (config, error) {
	cfg := config{found: warnings{}, checked: func(_ string, err error) error { return err }}
	environ, wrong := envvars.Clean(environ)
	found := problems(wrong)
	variables := env.ToMap(environ)
	// Set the defaults first: a setting that cannot be parsed then has its default, and is reported
	// only once. The map is not nil, or the library would read the process's environment.
	_ = env.ParseWithOptions(&cfg, env.Options{Prefix: envPrefix, Environment: map[string]string{}})
	mistakes, _ := errors.AsType[env.AggregateError](
		env.ParseWithOptions(&cfg, env.Options{Prefix: envPrefix, Environment: variables}),
	)
	for _, e := range mistakes.Errors {
		found.addUnparsed(e)
	}
	cfg.addrSet = variables[envPrefix+"ADDR"] != ""
	cfg.readSecrets(&found, variables)
	cfg.tracing, wrong = tracing.ReadConfig(
		func(name string) string { return cfg.tracingVariable(&found, variables, name) },
	)
	found = append(found, wrong...)
	cfg.check(&found)
	if cfg.BaseURL == "" {
		cfg.BaseURL = defaultBaseURL(cfg.Addr)
	}
	return cfg, found.err()
}

func (c *config) check(p *problems) {
	p.checkAddr("ADDR", c.Addr)
	p.checkAddr("ADMIN_ADDR", c.AdminAddr)
	p.readWord("ENVIRONMENT", &c.Environment, envvars.Environments...)
	p.readWord("LOG_FORMAT", &c.LogFormat, "json", "text")
	p.readWord("LOG_LEVEL", &c.LogLevel, "trace", "debug", "info", "warn", "error", "disabled")
	if c.BaseURL != "" {
		if err := api.CheckBaseURL(c.BaseURL); err != nil {
			p.add("PETSTORE_BASE_URL %v: want a URL such as https://api.example.com/v1", err)
		}
	}
	if err := api.CheckSupportURL(c.SupportURL); err != nil {
		p.add("PETSTORE_SUPPORT_URL %v: want a URL such as https://support.example.org", err)
	}
	if err := api.CheckSupportEmail(c.SupportEmail); err != nil {
		p.add("PETSTORE_SUPPORT_EMAIL %v: want an address such as support@example.org", err)
	}
	for _, proxy := range c.TrustedProxies {
		if _, err := parseNetwork(proxy); err != nil {
			p.add(
				"PETSTORE_TRUSTED_PROXIES contains %q: want addresses or ranges such as 10.0.0.0/8, separated by "+
					"commas",
				proxy,
			)
		}
	}
	for _, s := range []struct {
		name   string
		value  any
		unfit  bool
		wanted string
	}{
		{"ADDRESS_LIMIT", c.AddressLimit, c.AddressLimit < 1, "at least 1 request per minute"},
		{"MAX_CONNECTIONS", c.MaxConnections, c.MaxConnections < minConnections,
			fmt.Sprintf("at least %d", minConnections)},
		{"MAX_CONNECTIONS_PER_ADDRESS", c.MaxConnectionsPerAddress, c.MaxConnectionsPerAddress < 0,
			"a number, or 0 for a quarter of all connections"},
		{"LIST_CACHE_BYTES", c.ListCacheBytes, c.ListCacheBytes < 0, "a number of bytes, or 0 for no cache"},
		{"BODY_BYTES", c.BodyBytes, c.BodyBytes < api.MinBodyBytes, fmt.Sprintf("at least %d bytes", api.MinBodyBytes)},
		{"UNSENT_BYTES", c.UnsentBytes, c.UnsentBytes < minUnsentBytes,
			fmt.Sprintf("at least %d bytes", minUnsentBytes)},
		{"REDIS_TIMEOUT", c.RedisTimeout, c.RedisTimeout < time.Millisecond, "a duration such as 100ms"},
		{"DRAIN_DELAY", c.DrainDelay, c.DrainDelay < 0, "0s or more"},
		{"STOP_TIMEOUT", c.StopTimeout, c.StopTimeout <= 0, "more than 0s"},
	} {
		if s.unfit {
			p.add("%s%s is %v: want %s", envPrefix, s.name, s.value, s.wanted)
		}
	}
}

// keys returns the environment whose keys this server accepts. `petstore dev` accepts all, so that
// errors can be simulated there too.
func (c *config) keys() keys.Environment {
	if c.dev {
		return keys.AnyEnvironment
	}
	if c.Environment == "staging" {
		return keys.Test
	}
	return keys.Live
}

// defaultBaseURL returns a base URL whose links work only on this machine.
func defaultBaseURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + "/v1"
}

// problems collects the mistakes in a configuration. Its texts never contain the value of a secret.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p *problems) err() error {
	if len(*p) == 0 {
		return nil
	}
	return *p
}

// Error implements error.
func (p problems) Error() string {
	return "invalid configuration:\n  - " + strings.Join(p, "\n  - ") + "\nSee docs/configuration.md."
}

// addUnparsed reports a value that cannot be parsed, without the names of Go's types.
func (p *problems) addUnparsed(err error) {
	parse, ok := errors.AsType[env.ParseError](err)
	if !ok {
		p.add("%s", strings.TrimPrefix(err.Error(), "env: "))
		return
	}
	field, _ := reflect.TypeFor[config]().FieldByName(parse.Name)
	want := map[reflect.Type]string{
		reflect.TypeFor[envvars.Switch](): envvars.SwitchWords,
		reflect.TypeFor[int64]():          "an integer",
		reflect.TypeFor[time.Duration]():  "a duration such as 100ms or 5s",
	}[parse.Type]
	p.add("%s%s is invalid: want %s", envPrefix, field.Tag.Get("env"), want)
}

func (p *problems) checkAddr(name, value string) {
	if _, port, err := net.SplitHostPort(value); err != nil || port == "" {
		p.add("%s%s is %q: want HOST:PORT, or :PORT for all addresses", envPrefix, name, value)
	}
}

// readWord sets a value to the word that it is, in any case.
func (p *problems) readWord(name string, value *string, words ...string) {
	word, ok := envvars.Word(*value, words...)
	if !ok {
		p.add("%s%s is %q: want %s", envPrefix, name, *value, strings.Join(words, " or "))
		return
	}
	*value = word
}

// list is a setting of several items.
type list []string

// UnmarshalText reads items that commas separate.
func (l *list) UnmarshalText(text []byte) error { //nolint:unparam // The interface has it.
	*l = envvars.List(string(text))
	return nil
}

// parseNetwork reads an address, or a range of addresses such as 10.0.0.0/8.
func parseNetwork(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.Prefix(addr.BitLen())
	}
	return netip.ParsePrefix(s)
}
