package cmdutil

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"petstore.example/internal/ctl/profiles"
	"petstore.example/internal/devfile"
	"petstore.example/internal/envvars"
	"petstore.example/internal/ownfiles"
	"petstore.example/internal/store"
)

const (
	// databaseVariable and profileVariable set the database if no flag does.
	databaseVariable = "PETSTORE_DATABASE_URL"
	profileVariable  = "PETSTORE_PROFILE"
	// loggedIn names the default profile in messages.
	loggedIn = "petstorectl login"
)

// DatabaseFinder finds the database. Messages say where its URL was set, but never show the URL: it
// may hold a password.
type DatabaseFinder struct {
	// DatabaseURL and Profile are the values of --database-url and --profile.
	DatabaseURL, Profile string
	Getenv               func(string) string
	// Environ is the environment in which CheckEnvironment looks for misspelt variables; nil for
	// none.
	Environ []string
	WorkDir func() (string, error)
}

// FindDatabase returns the database named by the first of these: --database-url, --profile,
// PETSTORE_DATABASE_URL or its file, PETSTORE_PROFILE, the dev.json of the working folder, the
// default profile, and the variables of Postgres's own programs.
func (f *DatabaseFinder) FindDatabase() (DatabaseSource, error) {
	source, err := f.findSource()
	if err != nil {
		return DatabaseSource{}, err
	}
	if source.URL == "" {
		return DatabaseSource{}, UsageErrorf("no database is configured").WithHint(
			"log in: petstorectl login postgres://YOU@HOST/petstore\n" +
				`or change to a folder where "petstore dev" was started`)
	}
	source, _ = f.Describe(source) // Open returns the same error.
	return source, nil
}

// Describe sets where the URL leads. Unless the source has an environment, Describe sets that too:
// to PETSTORE_ENVIRONMENT, else to development for a database on this machine, and to production
// for any other. A URL that can't be read counts as production.
func (f *DatabaseFinder) Describe(source DatabaseSource) (_ DatabaseSource, err error) {
	source.Target, err = store.ReadTarget(source.URL)
	named, _ := envvars.Environment(f.Getenv) // CheckEnvironment has refused an unknown word.
	switch {
	case source.Environment != "":
	case named != "":
		source.Environment = profiles.Environment(named)
	case err == nil && !source.Target.Remote:
		source.Environment = profiles.Development
	default:
		source.Environment = profiles.Production
	}
	return source, err
}

func (f *DatabaseFinder) findSource() (source DatabaseSource, err error) {
	switch {
	case f.DatabaseURL != "" && f.Profile != "":
		return source, UsageErrorf("--database-url and --profile can't be used together")
	case f.DatabaseURL != "":
		return DatabaseSource{URL: f.DatabaseURL, SetBy: "--database-url"}, nil
	case f.Profile != "":
		return f.findProfile(f.Profile, "--profile "+f.Profile)
	case f.Getenv(databaseVariable) != "" || f.Getenv(databaseVariable+envvars.FileSuffix) != "":
		named, err := envvars.ReadSecret(f.Getenv, databaseVariable)
		if err != nil {
			return source, UsageErrorf("%v", err)
		}
		return DatabaseSource{URL: named.Value, SetBy: named.SetBy, Warning: named.Warning}, nil
	case f.Getenv(profileVariable) != "":
		return f.findProfile(f.Getenv(profileVariable), profileVariable)
	}
	if source, err = f.findDevFile(); err != nil || source.URL != "" {
		return source, err
	}
	if source, err = f.findProfile("", loggedIn); err != nil || source.URL != "" {
		return source, err
	}
	for _, variable := range []string{"PGSERVICE", "PGHOST", "PGHOSTADDR"} {
		if f.Getenv(variable) != "" {
			return DatabaseSource{URL: "postgres://", SetBy: variable}, nil
		}
	}
	return source, nil
}

// ProfileName is the profile that a flag or a variable names, or the default.
func (f *DatabaseFinder) ProfileName() string {
	return cmp.Or(f.Profile, f.Getenv(profileVariable), profiles.Default)
}

// CheckUnambiguous refuses a change if no flag or variable names the database, and the dev.json of
// the working folder and the default profile name two different ones. So a change meant for a clone
// does not reach production, nor the other way round.
func (f *DatabaseFinder) CheckUnambiguous() error {
	source, err := f.FindDatabase()
	if err != nil || source.Dev == nil {
		return err
	}
	login, err := f.findProfile("", loggedIn)
	if err != nil || login.Profile == nil {
		return err
	}
	login, err = f.Describe(login)
	if one, other := source.Target, login.Target; err == nil && one.Host == other.Host && one.Port == other.Port &&
		one.Database == other.Database {
		return nil
	}
	return UsageErrorf("%s and %s name different databases", source.SetBy, login.SetBy).WithHint(fmt.Sprintf(
		"choose one: --profile %s, or --database-url with the URL in %s, or run the command in another folder",
		login.Profile.Name,
		source.SetBy,
	))
}

// CheckEnvironment refuses variables PETSTORE_… that no program reads, and values that can't be
// read. With a misspelt PETSTORE_DATABASE_URL the default profile would decide which database is
// changed, and with a misspelt PETSTORE_ENVIRONMENT which keys are made. If the name of a profile
// is a URL, the error does not repeat it.
func (f *DatabaseFinder) CheckEnvironment() error {
	_, mistakes := envvars.Clean(f.Environ)
	if _, err := envvars.Environment(f.Getenv); err != nil {
		mistakes = append(mistakes, err.Error())
	}
	if envvars.MayBeSecret(f.ProfileName()) {
		mistakes = append(mistakes, "the name of the profile is a URL or the like: a URL is for --database-url")
	}
	if len(mistakes) == 0 {
		return nil
	}
	return UsageErrorf("%s", strings.Join(mistakes, "; ")).WithHint("see: petstorectl help environment")
}

// findProfile returns the database of a profile. "" stands for the default one; if there is none,
// it returns nothing.
func (f *DatabaseFinder) findProfile(name, setBy string) (DatabaseSource, error) {
	p, err := profiles.Get(cmp.Or(name, profiles.Default))
	if name == "" && errors.Is(err, profiles.ErrNotFound) {
		return DatabaseSource{}, nil
	}
	return DatabaseSource{
			URL:         p.URL(),
			SetBy:       setBy,
			Profile:     &p,
			Environment: p.Environment(),
		}, ProfileError(
			err,
			name,
		)
}

// ProfileError says what to do about an error of profiles.
func ProfileError(err error, name string) error {
	untrusted := (*ownfiles.UntrustedError)(nil)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, profiles.ErrNotFound):
		return NotFoundErrorf(
			"no profile %q",
			short(name),
		).WithHint(
			"log in: petstorectl login --profile NAME postgres://YOU@HOST/petstore",
		)
	case errors.Is(err, profiles.ErrNotOwn):
		return RefusedErrorf(
			"the service %q in %s was not written by petstorectl login",
			name,
			store.ServiceFile(),
		).WithHint("choose another --profile, or edit the file")
	case errors.As(err, &untrusted):
		return UsageErrorf(
			"%v",
			untrusted,
		).WithHint("see who wrote it; then take the right from others: chmod go-w FILE")
	}
	return UsageErrorf("%v", err)
}

func (f *DatabaseFinder) findDevFile() (DatabaseSource, error) {
	dir, err := f.WorkDir()
	if err != nil {
		return DatabaseSource{}, nil //nolint:nilerr // A folder that was deleted has no file.
	}
	path := filepath.Join(dir, devfile.DefaultDir, devfile.Name)
	dev, err := devfile.Read(filepath.Dir(path))
	hint, untrusted := `restart "petstore dev", or use --profile or --database-url`, (*ownfiles.UntrustedError)(nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return DatabaseSource{}, nil
	case errors.As(err, &untrusted):
		err, hint = untrusted, "set "+databaseVariable+
			`, use --database-url, or change to a folder where you started "petstore dev"`
	case err == nil && dev.DatabaseURL == "":
		err = fmt.Errorf("%s has no database_url", path)
	}
	if err != nil {
		return DatabaseSource{}, UsageErrorf("%v", err).WithHint(hint)
	}
	return DatabaseSource{URL: dev.DatabaseURL, SetBy: path, Dev: &dev, Environment: profiles.Development}, nil
}
