package cmdutil

import (
	"errors"
	"io/fs"

	"petstore.example/internal/devfile"
	"petstore.example/internal/keys"
	"petstore.example/internal/ownfiles"
)

// databaseVariable sets the database if no flag does.
const databaseVariable = "PETSTORE_DATABASE_URL"

// DatabaseSource is the URL of the database and what set it.
type DatabaseSource struct {
	URL string
	// SetBy is the flag, variable or file that the URL is from.
	SetBy string
	// Dev is what "petstore dev" wrote, nil if the URL is from elsewhere.
	Dev *devfile.File
}

// DatabaseFinder finds the database. Messages name what set its URL, never the URL: it may hold a password.
type DatabaseFinder struct {
	// DatabaseURL is the value of --database-url.
	DatabaseURL string
	Getenv      func(string) string
	WorkDir     func() (string, error)
}

// FindDatabase returns the database of the flag, the environment, or the dev.json nearest to the working folder, in this
// order.
func (f *DatabaseFinder) FindDatabase() (DatabaseSource, error) {
	source := DatabaseSource{URL: f.DatabaseURL, SetBy: "--database-url"}
	if source.URL == "" {
		source = DatabaseSource{URL: f.Getenv(databaseVariable), SetBy: databaseVariable}
	}
	if source.URL == "" {
		var err error
		if source, err = f.findDevFile(); err != nil {
			return DatabaseSource{}, err
		}
	}
	if source.URL == "" {
		return DatabaseSource{}, UsageErrorf("no database is configured").WithHint(
			"set " + databaseVariable + ", use --database-url, or " +
				`change to a folder where "petstore dev" was started`)
	}
	return source, nil
}

func (f *DatabaseFinder) findDevFile() (DatabaseSource, error) {
	dir, err := f.WorkDir()
	if err != nil {
		return DatabaseSource{}, nil //nolint:nilerr // A folder that was deleted has no file.
	}
	dev, path, err := devfile.Find(dir)
	untrusted := (*ownfiles.UntrustedError)(nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return DatabaseSource{}, nil
	case errors.As(err, &untrusted):
		return DatabaseSource{}, UsageErrorf("%v", untrusted).WithHint(
			"set " + databaseVariable + ", use --database-url, or " +
				`change to a folder where you started "petstore dev"`)
	case err != nil:
		return DatabaseSource{}, UsageErrorf("%v", err).WithHint(`restart "petstore dev", or use --database-url`)
	case dev.DatabaseURL == "":
		return DatabaseSource{}, UsageErrorf("%s has no database_url", path).WithHint(
			`restart "petstore dev", or use --database-url`)
	}
	return DatabaseSource{URL: dev.DatabaseURL, SetBy: path, Dev: &dev}, nil
}

// Explain says which database could not be opened.
func (d DatabaseSource) Explain(err error) error {
	switch exitCode(err) {
	case ExitInterrupted:
		return err
	case ExitDatabase:
		e := &Error{Code: ExitDatabase, Message: "can't connect to the database set by " + d.SetBy, Cause: err}
		if d.Dev != nil {
			e.Hint = `is "petstore dev" running?`
		}
		return e
	}
	return &Error{Code: ExitUsage, Message: "can't use the database set by " + d.SetBy, Cause: err}
}

// DefaultEnvironment is the kind of deployment that new keys are for: that of PETSTORE_ENVIRONMENT, else that of the key
// that "petstore dev" made, else live.
func (f *DatabaseFinder) DefaultEnvironment() keys.Environment {
	switch f.Getenv("PETSTORE_ENVIRONMENT") {
	case "staging":
		return keys.Test
	case "production":
		return keys.Live
	}
	if source, err := f.FindDatabase(); err == nil && source.Dev != nil {
		if token, err := keys.ParseToken(source.Dev.APIKey); err == nil {
			return token.Environment()
		}
	}
	return keys.Live
}
