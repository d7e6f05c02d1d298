package config

import (
	"fmt"
	"io"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Print writes the settings and OpenTelemetry's variables as environment variables, without
// secrets.
func (c *Config) Print(to io.Writer, environ []string) error {
	settings, err := env.GetFieldParamsWithOptions(c, env.Options{Prefix: envPrefix})
	if err != nil {
		return err
	}
	values := c.values()
	for i, s := range settings {
		_, _ = fmt.Fprintf(to, "%s=%v\n", s.Key, values[i])
	}
	printTracing(to, environ)
	return nil
}

// values returns the settings in the order of their declaration, as the environment set them. A URL
// from a file is not shown.
func (c *Config) values() []any {
	database, redis, key, relay := c.DatabaseURL, c.RedisURL, c.SecretsKey, c.SMTPURL
	if c.DatabaseURLFile != "" {
		database = ""
	}
	if c.RedisURLFile != "" {
		redis = ""
	}
	if c.SecretsKeyFile != "" {
		key = ""
	}
	if c.SMTPURLFile != "" {
		relay = ""
	}
	return []any{
		database,
		c.DatabaseURLFile,
		redis,
		c.RedisURLFile,
		c.RedisTimeout,
		key,
		c.SecretsKeyFile,
		strings.Join(c.WebhookDeny, ","),
		strings.Join(c.WebhookPorts, ","),
		relay,
		c.SMTPURLFile,
		c.MailFrom,
		c.Addr,
		c.AdminAddr,
		c.Environment,
		c.BaseURL,
		c.SupportURL,
		c.SupportEmail,
		strings.Join(c.TrustedProxies, ","),
		c.AddressLimit,
		c.MaxConnections,
		c.MaxConnectionsPerAddress,
		c.ListCacheBytes,
		c.BodyBytes,
		c.UnsentBytes,
		c.HTTPFastPath,
		c.LogLevel,
		c.LogFormat,
		c.Pprof,
		c.DrainDelay,
		c.StopTimeout,
		c.AllowOwner,
	}
}
