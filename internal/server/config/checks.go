package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"petstore.example/internal/api"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/envvars"
	"petstore.example/internal/mail"
	"petstore.example/internal/webhooks"
)

const (
	// MinConnections is the least number of connections for the API.
	MinConnections = 32
	// minUnsentBytes lets an address have one response of each size unread.
	minUnsentBytes = 4 << 20
)

// checkSettings adds the mistakes in a configuration to p.
func checkSettings(c *Config, p *Problems) {
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
	if err := problem.CheckSupportURL(c.SupportURL); err != nil {
		p.add("PETSTORE_SUPPORT_URL %v: want a URL such as https://support.example.org", err)
	}
	if err := problem.CheckSupportEmail(c.SupportEmail); err != nil {
		p.add("PETSTORE_SUPPORT_EMAIL %v: want an address such as support@example.org", err)
	}
	if c.MailFrom != "" || c.SMTPURL != "" {
		if _, err := mail.ParseFrom(c.MailFrom); err != nil {
			p.add("PETSTORE_MAIL_FROM is %q: %v", c.MailFrom, err)
		}
	}
	for _, proxy := range c.TrustedProxies {
		if _, err := ParseNetwork(proxy); err != nil {
			p.add(
				"PETSTORE_TRUSTED_PROXIES contains %q: want addresses or ranges such as 10.0.0.0/8, separated by "+
					"commas",
				proxy,
			)
		}
	}
	c.WebhookRules = readWebhookRules(c, p)
	for _, s := range []struct {
		name   string
		value  any
		unfit  bool
		wanted string
	}{
		{"ADDRESS_LIMIT", c.AddressLimit, c.AddressLimit < 1, "at least 1 request per minute"},
		{"MAX_CONNECTIONS", c.MaxConnections, c.MaxConnections < MinConnections,
			fmt.Sprintf("at least %d", MinConnections)},
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

// readWebhookRules returns where webhooks may go.
func readWebhookRules(c *Config, p *Problems) *webhooks.Rules {
	var denied []netip.Prefix
	for _, text := range c.WebhookDeny {
		network, err := ParseNetwork(text)
		if err != nil {
			p.add("PETSTORE_WEBHOOK_DENY contains %q: want addresses or ranges such as 203.0.113.0/24, separated by "+
				"commas", text)
		}
		denied = append(denied, network)
	}
	var ports []uint16
	for _, text := range c.WebhookPorts {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			p.add("PETSTORE_WEBHOOK_PORTS contains %q: want ports such as 443,8443", text)
		}
		ports = append(ports, uint16(port))
	}
	return webhooks.NewRules(ports, denied)
}
