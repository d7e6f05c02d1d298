package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/rs/zerolog"

	"petstore.example/internal/api"
	"petstore.example/internal/envvars"
	"petstore.example/internal/keys"
	"petstore.example/internal/tracing"
)

// config is what `petstore serve` reads from the environment. docs/configuration.md describes each setting; a test
// holds the two together.
type config struct {
	DatabaseURL              secret        `env:"DATABASE_URL"`
	DatabaseURLFile          fileName      `env:"DATABASE_URL_FILE"`
	RedisURL                 secret        `env:"REDIS_URL"`
	RedisURLFile             fileName      `env:"REDIS_URL_FILE"`
	RedisTimeout             time.Duration `env:"REDIS_TIMEOUT" envDefault:"100ms"`
	Addr                     string        `env:"ADDR" envDefault:":8080"`
	AdminAddr                string        `env:"ADMIN_ADDR" envDefault:"127.0.0.1:8081"`
	Environment              string        `env:"ENVIRONMENT" envDefault:"production"`
	BaseURL                  string        `env:"BASE_URL"`
	SupportURL               string        `env:"SUPPORT_URL"`
	SupportEmail             string        `env:"SUPPORT_EMAIL"`
	TrustedProxies           []string      `env:"TRUSTED_PROXIES"`
	AddressLimit             int64         `env:"ADDRESS_LIMIT" envDefault:"6000"`
	MaxConnections           int64         `env:"MAX_CONNECTIONS" envDefault:"20000"`
	MaxConnectionsPerAddress int64         `env:"MAX_CONNECTIONS_PER_ADDRESS" envDefault:"0"`
	ListCacheBytes           int64         `env:"LIST_CACHE_BYTES" envDefault:"33554432"`
	BodyBytes                int64         `env:"BODY_BYTES" envDefault:"67108864"`
	UnsentBytes              int64         `env:"UNSENT_BYTES" envDefault:"134217728"`
	HTTPFastPath             string        `env:"HTTP_FAST_PATH" envDefault:"on"`
	LogLevel                 string        `env:"LOG_LEVEL" envDefault:"info"`
	LogFormat                string        `env:"LOG_FORMAT" envDefault:"json"`
	Pprof                    bool          `env:"PPROF" envDefault:"false"`
	DrainDelay               time.Duration `env:"DRAIN_DELAY" envDefault:"0s"`
	StopTimeout              time.Duration `env:"STOP_TIMEOUT" envDefault:"20s"`

	// addrSet is true if ADDR is set, and not the default.
	addrSet bool
	// dev is set by `petstore dev`, whose login owns the tables.
	dev bool
	// issueKey is the command that issues keys for `petstore dev`.
	issueKey string
	// tracing is read from OpenTelemetry's own variables.
	tracing tracing.Config
	// found are the warnings about the configuration.
	found warnings
}

const envPrefix = envvars.Prefix

// readConfig returns the configuration of an environment, or an error that lists all mistakes in it. The URLs that are in files are read.
func readConfig(environ []string) (config, error) {
	cfg := config{found: warnings{}}
	var found problems
	for _, unknown := range envvars.Unknown(environ) {
		found.add("%s", unknown)
	}
	variables := env.ToMap(environ)
	// Set the defaults first: a setting that cannot be parsed then has its default, and is reported only once. The map is not nil,
	// or the library would read the process's environment.
	_ = env.ParseWithOptions(&cfg, env.Options{Prefix: envPrefix, Environment: map[string]string{}})
	err := env.ParseWithOptions(&cfg, env.Options{Prefix: envPrefix, Environment: variables})
	var parse env.AggregateError
	if errors.As(err, &parse) {
		for _, e := range parse.Errors {
			found.addUnparsed(e)
		}
	} else if err != nil {
		found.add("%v", err)
	}
	cfg.addrSet = variables[envPrefix+"ADDR"] != ""
	cfg.readSecrets(&found, variables)
	var wrong []string
	cfg.tracing, wrong = tracing.ReadConfig(func(name string) string { return cfg.tracingVariable(&found, variables, name) })
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
	p.checkOneOf("ENVIRONMENT", c.Environment, "production", "staging")
	p.checkOneOf("HTTP_FAST_PATH", c.HTTPFastPath, "on", "off")
	p.checkOneOf("LOG_FORMAT", c.LogFormat, "json", "text")
	if _, err := zerolog.ParseLevel(c.LogLevel); err != nil || c.LogLevel == "" {
		p.add("PETSTORE_LOG_LEVEL is %q: want trace, debug, info, warn, error or disabled", c.LogLevel)
	}
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
			p.add("PETSTORE_TRUSTED_PROXIES contains %q: want addresses or ranges such as 10.0.0.0/8, separated by commas", proxy)
		}
	}
	if c.AddressLimit < 1 {
		p.add("PETSTORE_ADDRESS_LIMIT is %d: want at least 1 request per minute", c.AddressLimit)
	}
	if c.MaxConnections < minConnections {
		p.add("PETSTORE_MAX_CONNECTIONS is %d: want at least %d", c.MaxConnections, minConnections)
	}
	if c.MaxConnectionsPerAddress < 0 {
		p.add("PETSTORE_MAX_CONNECTIONS_PER_ADDRESS is %d: want a number, or 0 for a quarter of all connections", c.MaxConnectionsPerAddress)
	}
	if c.ListCacheBytes < 0 {
		p.add("PETSTORE_LIST_CACHE_BYTES is %d: want a number of bytes, or 0 for no cache", c.ListCacheBytes)
	}
	if c.BodyBytes < api.MinBodyBytes {
		p.add("PETSTORE_BODY_BYTES is %d: want at least %d bytes", c.BodyBytes, api.MinBodyBytes)
	}
	if c.UnsentBytes < minUnsentBytes {
		p.add("PETSTORE_UNSENT_BYTES is %d: want at least %d bytes", c.UnsentBytes, minUnsentBytes)
	}
	if c.RedisTimeout < time.Millisecond {
		p.add("PETSTORE_REDIS_TIMEOUT is %v: want a duration such as 100ms", c.RedisTimeout)
	}
	if c.DrainDelay < 0 {
		p.add("PETSTORE_DRAIN_DELAY is %v: want 0s or more", c.DrainDelay)
	}
	if c.StopTimeout <= 0 {
		p.add("PETSTORE_STOP_TIMEOUT is %v: want more than 0s", c.StopTimeout)
	}
}

// keys returns the environment whose keys this server accepts. `petstore dev` accepts all, so that errors can be simulated there too.
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
	return errors.New("invalid configuration:\n  - " + strings.Join(*p, "\n  - ") + "\nSee docs/configuration.md.")
}

// addUnparsed reports a value that cannot be parsed, without the names of Go's types.
func (p *problems) addUnparsed(err error) {
	var parse env.ParseError
	if !errors.As(err, &parse) {
		p.add("%s", strings.TrimPrefix(err.Error(), "env: "))
		return
	}
	field, _ := reflect.TypeFor[config]().FieldByName(parse.Name)
	want := map[reflect.Type]string{
		reflect.TypeFor[bool]():          "true or false",
		reflect.TypeFor[int64]():         "an integer",
		reflect.TypeFor[time.Duration](): "a duration such as 100ms or 5s",
	}[parse.Type]
	p.add("%s%s is invalid: want %s", envPrefix, field.Tag.Get("env"), want)
}

func (p *problems) checkAddr(name, value string) {
	if _, port, err := net.SplitHostPort(value); err != nil || port == "" {
		p.add("%s%s is %q: want HOST:PORT, or :PORT for all addresses", envPrefix, name, value)
	}
}

func (p *problems) checkOneOf(name, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		p.add("%s%s is %q: want %s", envPrefix, name, value, strings.Join(allowed, " or "))
	}
}

// parseNetwork reads an address, or a range of addresses such as 10.0.0.0/8.
func parseNetwork(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.Prefix(addr.BitLen())
	}
	return netip.ParsePrefix(s)
}
