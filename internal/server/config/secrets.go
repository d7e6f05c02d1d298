package config

import "petstore.example/internal/envvars"

// The variables with secrets. A file can hold each instead.
const (
	DatabaseVariable = envPrefix + "DATABASE_URL"
	RedisVariable    = envPrefix + "REDIS_URL"
	SecretsVariable  = envPrefix + "SECRETS_KEY"
	SMTPVariable     = envPrefix + "SMTP_URL"
)

// secret is a setting whose value is never printed.
type secret string

// fileName is the name of a file with a secret. It is not printed if it may be the secret itself.
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
func (s secret) MarshalText() ([]byte, error) {
	return []byte(s.String()), nil
}

// SetBy returns the variable that set a URL: variable, with FileSuffix if file is set.
func SetBy(variable string, file fileName) string {
	if file != "" {
		return variable + envvars.FileSuffix
	}
	return variable
}
