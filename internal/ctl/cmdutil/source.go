package cmdutil

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/profiles"
	"petstore.example/internal/devfile"
	"petstore.example/internal/store"
)

// DatabaseSource is the URL of the database and what set it.
type DatabaseSource struct {
	URL string
	// SetBy is the flag, variable, profile or file that the URL is from; empty for a login, which is not stored yet.
	SetBy string
	// Warning is a sentence on the file that the URL is from, "" for none.
	Warning string
	// Dev is what "petstore dev" wrote, and Profile the profile; nil if the URL is from elsewhere.
	Dev     *devfile.File
	Profile *profiles.Profile
	// Environment is the kind of deployment that the database serves.
	Environment profiles.Environment
}

// Explain says which database could not be opened, and what to do.
func (d DatabaseSource) Explain(err error) error {
	certificate := (*tls.CertificateVerificationError)(nil)
	switch {
	case exitCode(err) == ExitInterrupted:
		return err
	case store.IsPasswordRefused(err):
		return d.passwordRefused(err)
	case errors.As(err, &certificate):
		return d.failed(err, "name the file of its CA in the URL: sslrootcert=FILE")
	case store.IsWithoutTLS(err):
		return d.failed(err, "use a server with TLS; or sslmode=disable in the URL, if nobody can read what is sent to it")
	case exitCode(err) == ExitDatabase && d.Dev != nil:
		return d.failed(err, `is "petstore dev" running?`)
	case exitCode(err) == ExitDatabase:
		return d.failed(err, "")
	}
	return &Error{Code: ExitUsage, Message: "can't use " + d.name(), Cause: err}
}

func (d DatabaseSource) failed(err error, hint string) *Error {
	return &Error{Code: ExitDatabase, Message: "can't connect to " + d.name(), Cause: err, Hint: hint}
}

// name names the database by what set it, or by its host.
func (d DatabaseSource) name() string {
	if d.SetBy != "" {
		return "the database set by " + d.SetBy
	}
	if target, err := store.ReadTarget(d.URL); err == nil {
		return output.Clean(target.Host)
	}
	return "the database"
}

// passwordRefused says what to do. Postgres does not tell a wrong password from one that has expired, but a profile knows when its secret
// expires.
func (d DatabaseSource) passwordRefused(err error) error {
	target, targetErr := store.ReadTarget(d.URL)
	if targetErr != nil {
		return d.failed(err, "")
	}
	again, give := "", "petstorectl login URL"
	if d.Profile != nil {
		give = "petstorectl login" + d.Profile.Flag()
		again = ", then log in again: " + give
	}
	hint := fmt.Sprintf("the secret is wrong, was rotated or has expired: ask an administrator to run: petstorectl staff rotate %s%s", target.Login, again)
	switch {
	case target.PasswordFrom == "" && !profiles.HasSecret(target):
		hint = "no secret is given: " + give + ", or a line in .pgpass, which only you may read (chmod 600)"
	case d.Profile != nil && !d.Profile.ExpiresAt.IsZero() && d.Profile.ExpiresAt.Before(time.Now()):
		expired := fmt.Errorf("the secret of login %s expired at %s", target.Login, output.Text(d.Profile.ExpiresAt))
		return d.failed(expired, fmt.Sprintf("ask an administrator to run: petstorectl staff rotate %s%s", target.Login, again))
	}
	return d.failed(err, hint)
}
