package main

import (
	"fmt"

	"petstore.example/internal/envvars"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/store"
)

// The variables of secrets. Each may be set by a file.
const (
	databaseVariable = envPrefix + "DATABASE_URL"
	redisVariable    = envPrefix + "REDIS_URL"
)

// secret is a setting that never prints itself.
type secret string

// fileName is the name of a file with a secret. It prints itself unless it is the secret.
type fileName string

func (f fileName) String() string {
	if envvars.MayBeSecret(string(f)) {
		return redacted
	}
	return string(f)
}

// GoString redacts, as String does.
func (f fileName) GoString() string { return f.String() }

const redacted = "(set, not shown)"

func (s secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString redacts, as String does.
func (s secret) GoString() string { return s.String() }

// MarshalText redacts, as String does.
func (s secret) MarshalText() ([]byte, error) { //nolint:unparam // The interface has it.
	return []byte(s.String()), nil
}

// readSecrets sets the URLs to what their files contain, and checks them.
func (c *config) readSecrets(p *problems, variables map[string]string) {
	read := func(name string, url *secret, check func(string) error) {
		s, err := envvars.ReadSecret(func(name string) string { return variables[name] }, name)
		if *url = secret(s.Value); err == nil && s.Value != "" {
			if err = check(s.Value); err != nil {
				err = fmt.Errorf("%s: %w", s.SetBy, err)
			}
		}
		if err != nil {
			p.add("%v", err)
		} else if s.Value == "" && name == databaseVariable {
			p.add(
				"%s is required: want postgres://user:password@host:5432/name?sslmode=verify-full, or its file in "+
					"%[1]s_FILE",
				name,
			)
		}
		if s.Warning != "" {
			c.found.add("secrets", s.Warning)
		}
	}
	read(databaseVariable, &c.DatabaseURL, store.CheckURL)
	read(redisVariable, &c.RedisURL, redisbackend.CheckURL)
}

// setBy returns the variable that set a URL: the given one, or the one of its file.
func setBy(variable string, file fileName) string {
	if file != "" {
		return variable + envvars.FileSuffix
	}
	return variable
}
