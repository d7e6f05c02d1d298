package cmdutil

import (
	"fmt"
	"time"

	"petstore.example/internal/advice"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/profiles"
	"petstore.example/internal/devfile"
	"petstore.example/internal/store"
)

// DatabaseSource is the URL of the database and what set it.
type DatabaseSource struct {
	URL string
	// SetBy is the flag, variable, profile or file that set the URL; empty for a login, which is
	// not stored yet.
	SetBy string
	// Warning is a sentence about the file that set the URL, "" for none.
	Warning string
	// Dev is what "petstore dev" wrote, Profile the profile; nil if the URL is from elsewhere.
	Dev     *devfile.File
	Profile *profiles.Profile
	// Target is where the URL leads; empty if it can't be read.
	Target store.Target
	// Environment is the kind of deployment that the database serves.
	Environment profiles.Environment
}

// Explain says which database could not be opened, and what to do.
func (d DatabaseSource) Explain(err error) error {
	do := advice.On(err)
	switch {
	case exitCode(err) == ExitInterrupted:
		return err
	case store.IsPasswordRefused(err):
		return d.passwordRefused(err)
	case exitCode(err) == ExitDatabase && d.Dev != nil:
		return d.failed(err, `is "petstore dev" running?`)
	case exitCode(err) == ExitDatabase, do != "":
		return d.failed(err, do)
	}
	return &Error{Code: ExitUsage, Message: "can't use " + d.name(), Cause: err}
}

func (d DatabaseSource) failed(err error, hint string) *Error {
	return &Error{Code: ExitDatabase, Message: "can't connect to " + d.name(), Cause: err, Hint: hint}
}

// name names the database by what set its URL, or by its host.
func (d DatabaseSource) name() string {
	if d.SetBy != "" {
		return "the database set by " + d.SetBy
	}
	return output.Clean(d.Target.Host)
}

// passwordRefused says what to do. Postgres does not tell a wrong password from an expired one, but
// a profile knows when its secret expires.
func (d DatabaseSource) passwordRefused(err error) error {
	rotate, login := "ask an administrator to run: petstorectl staff rotate "+d.Target.Login, "petstorectl login URL"
	if d.Profile != nil {
		login = "petstorectl login" + d.Profile.Flag()
		rotate += ", then log in again: " + login
	}
	switch {
	case d.Target.PasswordFrom == "" && !profiles.HasSecret(d.Target):
		return d.failed(err, "no secret is given: "+login+", or a line in .pgpass, which only you may read (chmod 600)")
	case d.Profile != nil && !d.Profile.ExpiresAt.IsZero() && d.Profile.ExpiresAt.Before(time.Now()):
		return d.failed(
			fmt.Errorf("the secret of login %s expired at %s", d.Target.Login, output.Text(d.Profile.ExpiresAt)),
			rotate,
		)
	}
	return d.failed(err, "the secret is wrong, was rotated or has expired: "+rotate)
}
