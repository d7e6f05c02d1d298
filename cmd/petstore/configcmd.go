package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"
)

func newConfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print and check the configuration, without secrets",
		Long: `Print the settings of "petstore serve" as environment variables, and list all mistakes in them.
Secrets are not printed. The exit code is 1 if there is a mistake.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig(os.Environ())
			settings, paramsErr := env.GetFieldParamsWithOptions(&cfg, env.Options{Prefix: envPrefix})
			if paramsErr != nil {
				return paramsErr
			}
			for _, w := range cfg.found {
				_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+w)
			}
			values := cfg.values()
			for i, s := range settings {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s=%v\n", s.Key, values[i])
			}
			printTracing(cmd.OutOrStdout(), os.Environ())
			return err
		},
	}
}

// values returns the settings in the order of their declaration, as the environment set them: a URL
// of a file is not repeated.
func (c *config) values() []any {
	database, redis := c.DatabaseURL, c.RedisURL
	if c.DatabaseURLFile != "" {
		database = ""
	}
	if c.RedisURLFile != "" {
		redis = ""
	}
	return []any{
		database,
		c.DatabaseURLFile,
		redis,
		c.RedisURLFile,
		c.RedisTimeout,
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
