package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"petstore.example/internal/envvars"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/mail"
	"petstore.example/internal/store"
	"petstore.example/internal/tracing"
	"petstore.example/internal/webhooks"
)

// Read returns the configuration of an environment, or an error that lists all its mistakes. It
// reads the files that hold URLs.
func Read(environ []string) (Config, error) {
	cfg := Config{Warnings: Warnings{}}
	environ, wrong := envvars.Clean(environ)
	found := Problems(wrong)
	variables := env.ToMap(environ)
	// The defaults are set first: a setting that cannot be parsed then has its default, and is
	// reported only once. With a nil map the library would read the process's environment.
	_ = env.ParseWithOptions(&cfg, env.Options{Prefix: envPrefix, Environment: map[string]string{}})
	mistakes, _ := errors.AsType[env.AggregateError](
		env.ParseWithOptions(&cfg, env.Options{Prefix: envPrefix, Environment: variables}),
	)
	for _, e := range mistakes.Errors {
		addUnparsed(&found, e)
	}
	cfg.AddrSet = variables[envPrefix+"ADDR"] != ""
	readSecrets(&cfg, &found, variables)
	cfg.Tracing, wrong = tracing.ReadConfig(
		func(name string) string { return tracingVariable(&found, cfg.Warnings, variables, name) },
	)
	found = append(found, wrong...)
	checkSettings(&cfg, &found)
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL(cfg.Addr)
	}
	return cfg, found.err()
}

// ReadAdminAddr returns the address of the health checks. It ignores other mistakes in the
// configuration: the server reports them itself.
func ReadAdminAddr(environ []string) (string, error) {
	environ, mistakes := envvars.Clean(environ)
	if len(mistakes) > 0 {
		return "", errors.New(strings.Join(mistakes, "; "))
	}
	cfg := Config{}
	_ = env.ParseWithOptions(&cfg, env.Options{Prefix: envPrefix, Environment: env.ToMap(environ)})
	var found Problems
	if found.checkAddr("ADMIN_ADDR", cfg.AdminAddr); len(found) > 0 {
		return "", errors.New(found[0])
	}
	return cfg.AdminAddr, nil
}

// addUnparsed reports a value that cannot be parsed, without the names of Go types.
func addUnparsed(p *Problems, err error) {
	parse, ok := errors.AsType[env.ParseError](err)
	if !ok {
		p.add("%s", strings.TrimPrefix(err.Error(), "env: "))
		return
	}
	field, _ := reflect.TypeFor[Config]().FieldByName(parse.Name)
	want := map[reflect.Type]string{
		reflect.TypeFor[envvars.Switch](): envvars.SwitchWords,
		reflect.TypeFor[int64]():          "an integer",
		reflect.TypeFor[time.Duration]():  "a duration such as 100ms or 5s",
	}[parse.Type]
	p.add("%s%s is invalid: want %s", envPrefix, field.Tag.Get("env"), want)
}

// readSecrets sets the URLs to the content of their files, and checks them.
func readSecrets(c *Config, p *Problems, variables map[string]string) {
	read := func(name string, url *secret, check func(string) error) {
		s, err := envvars.ReadSecret(func(name string) string { return variables[name] }, name)
		if *url = secret(s.Value); err == nil && s.Value != "" {
			if err = check(s.Value); err != nil {
				err = fmt.Errorf("%s: %w", s.SetBy, err)
			}
		}
		if err != nil {
			p.add("%v", err)
		} else if s.Value == "" && name == DatabaseVariable {
			p.add(
				"%s is required: want postgres://user:password@host:5432/name?sslmode=verify-full, or its file in "+
					"%[1]s_FILE",
				name,
			)
		}
		if s.Warning != "" {
			c.Warnings.Add("secrets", s.Warning)
		}
	}
	read(DatabaseVariable, &c.DatabaseURL, store.CheckURL)
	read(RedisVariable, &c.RedisURL, redisbackend.CheckURL)
	read(SecretsVariable, &c.SecretsKey, func(keys string) (err error) {
		c.Sealer, err = webhooks.NewSealer(keys)
		return err
	})
	read(SMTPVariable, &c.SMTPURL, func(url string) error {
		if c.SecretsKey == "" {
			return fmt.Errorf("mail needs %s too, of which its links are made", SecretsVariable)
		}
		from, _ := mail.ParseFrom(c.MailFrom) // checkSettings reports its mistake.
		relay, err := mail.NewSMTP(url, from)
		if err == nil {
			c.Mail = relay
		}
		return err
	})
}
