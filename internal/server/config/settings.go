package config

import (
	"net"
	"net/netip"
	"time"

	"petstore.example/internal/envvars"
	"petstore.example/internal/keys"
	"petstore.example/internal/mail"
	"petstore.example/internal/tracing"
	"petstore.example/internal/webhooks"
)

// Config is what `petstore serve` reads from the environment. docs/configuration.md describes each
// setting; a test compares the two.
type Config struct {
	DatabaseURL              secret         `env:"DATABASE_URL"`
	DatabaseURLFile          fileName       `env:"DATABASE_URL_FILE"`
	RedisURL                 secret         `env:"REDIS_URL"`
	RedisURLFile             fileName       `env:"REDIS_URL_FILE"`
	RedisTimeout             time.Duration  `env:"REDIS_TIMEOUT" envDefault:"100ms"`
	SecretsKey               secret         `env:"SECRETS_KEY"`
	SecretsKeyFile           fileName       `env:"SECRETS_KEY_FILE"`
	WebhookDeny              list           `env:"WEBHOOK_DENY"`
	WebhookPorts             list           `env:"WEBHOOK_PORTS" envDefault:"443"`
	SMTPURL                  secret         `env:"SMTP_URL"`
	SMTPURLFile              fileName       `env:"SMTP_URL_FILE"`
	MailFrom                 string         `env:"MAIL_FROM"`
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

	// AddrSet is true if ADDR is set.
	AddrSet bool
	// Dev is set by `petstore dev`, whose login owns the tables.
	Dev bool
	// IssueKey is the command that issues keys for `petstore dev`.
	IssueKey string
	// Tracing is read from OpenTelemetry's own variables.
	Tracing tracing.Config
	// WebhookRules are made of WebhookDeny and WebhookPorts.
	WebhookRules *webhooks.Rules
	// Sealer is made of SecretsKey; nil without one: then there are no webhooks.
	Sealer *webhooks.Sealer
	// Mail is made of SMTPURL and MailFrom, or by `petstore dev`; nil for no mail.
	Mail mail.Transport
	// Warnings are the warnings about the configuration.
	Warnings Warnings
}

// list is a setting with several items.
type list []string

// UnmarshalText reads items separated by commas.
func (l *list) UnmarshalText(text []byte) error {
	*l = envvars.List(string(text))
	return nil
}

// Keys returns the environment whose keys this server accepts. `petstore dev` accepts all, so that
// errors can be simulated there too.
func (c *Config) Keys() keys.Environment {
	if c.Dev {
		return keys.AnyEnvironment
	}
	if c.Environment == "staging" {
		return keys.Test
	}
	return keys.Live
}

// Links makes and reads the links in mails. It returns nil without a SecretsKey.
func (c *Config) Links() *mail.Links {
	if c.Sealer == nil {
		return nil
	}
	return mail.NewLinks(c.BaseURL, c.Sealer.Derive("mail links"))
}

// DefaultBaseURL returns a base URL whose links work only on this machine.
func DefaultBaseURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + "/v1"
}

// ParseNetwork reads an address, or a range of addresses such as 10.0.0.0/8.
func ParseNetwork(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.Prefix(addr.BitLen())
	}
	return netip.ParsePrefix(s)
}
