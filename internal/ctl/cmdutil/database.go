package cmdutil

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"petstore.example/internal/ctl/contexts"
	"petstore.example/internal/devfile"
	"petstore.example/internal/envvars"
	"petstore.example/internal/keys"
	"petstore.example/internal/ownfiles"
	"petstore.example/internal/store"
)

const (
	// databaseVariable and contextVariable set the database if no flag does.
	databaseVariable = "PETSTORE_DATABASE_URL"
	contextVariable  = "PETSTORE_CONTEXT"
)

// DatabaseFinder finds the database. Messages name what set its URL, never the URL: it may hold a password.
type DatabaseFinder struct {
	// DatabaseURL and Context are the values of --database-url and --context.
	DatabaseURL, Context string
	Getenv               func(string) string
	// Environ is the environment in which no variable may be misspelt, as CheckEnvironment says; nil for none.
	Environ []string
	WorkDir func() (string, error)
}

// FindDatabase returns the database of the first that names one: --database-url, --context, PETSTORE_DATABASE_URL or its file,
// PETSTORE_CONTEXT, the dev.json of the working folder, the current context, and the variables of Postgres's own programs.
func (f *DatabaseFinder) FindDatabase() (DatabaseSource, error) {
	source, err := f.findSource()
	if err != nil {
		return DatabaseSource{}, err
	}
	if source.URL == "" {
		return DatabaseSource{}, UsageErrorf("no database is configured").WithHint(
			"log in: petstorectl login NAME postgres://YOU@HOST/petstore\n" +
				`or change to a folder where "petstore dev" was started`)
	}
	if source.Environment == "" {
		source.Environment = f.environmentOf(source.URL)
	}
	return source, nil
}

func (f *DatabaseFinder) findSource() (DatabaseSource, error) {
	url, name := f.Getenv(databaseVariable), f.Getenv(contextVariable)
	file := f.Getenv(databaseVariable + envvars.FileSuffix)
	switch {
	case f.DatabaseURL != "" && f.Context != "":
		return DatabaseSource{}, UsageErrorf("--database-url and --context can't be used together")
	case f.DatabaseURL != "":
		return DatabaseSource{URL: f.DatabaseURL, SetBy: "--database-url"}, nil
	case f.Context != "":
		return f.findContext(f.Context, "--context "+f.Context)
	case url != "" || file != "":
		return f.readVariable()
	case name != "":
		return f.findContext(name, "context "+name+" of "+contextVariable)
	}
	source, err := f.findDevFile()
	if err != nil || source.URL != "" {
		return source, err
	}
	source, err = f.findContext("", "")
	if err != nil || source.URL != "" {
		return source, err
	}
	for _, variable := range []string{"PGSERVICE", "PGHOST", "PGHOSTADDR"} {
		if f.Getenv(variable) != "" {
			return DatabaseSource{URL: "postgres://", SetBy: variable}, nil
		}
	}
	return DatabaseSource{}, nil
}

// CheckUnambiguous refuses a change when nobody said which database to change: the working folder has the dev.json of one, and the current context,
// which somebody logged in to, is another. So a clone does not lead to production, nor a login to the database of a clone.
func (f *DatabaseFinder) CheckUnambiguous() error {
	source, err := f.FindDatabase()
	if err != nil || source.Dev == nil {
		return err
	}
	login, err := f.findContext("", "")
	if err != nil || login.Context == nil || sameDatabase(source.URL, login.URL) {
		return err
	}
	return UsageErrorf("%s and %s name different databases", source.SetBy, login.SetBy).WithHint(fmt.Sprintf(
		"choose one: --context %s, or --database-url with the URL in %s, or run the command in another folder", login.Context.Name, source.SetBy))
}

func sameDatabase(a, b string) bool {
	one, errOne := store.ReadTarget(a)
	other, errOther := store.ReadTarget(b)
	return errOne == nil && errOther == nil && one.Host == other.Host && one.Port == other.Port && one.Database == other.Database
}

func (f *DatabaseFinder) readVariable() (DatabaseSource, error) {
	named, err := envvars.ReadSecret(f.Getenv, databaseVariable)
	if err != nil {
		return DatabaseSource{}, UsageErrorf("%v", err)
	}
	return DatabaseSource{URL: named.Value, SetBy: named.SetBy, Warning: named.Warning}, nil
}

// CheckEnvironment refuses variables PETSTORE_… that no program reads: a misspelt PETSTORE_DATABASE_URL would leave it to the current
// context which database is changed.
func (f *DatabaseFinder) CheckEnvironment() error {
	unknown := envvars.Unknown(f.Environ)
	if len(unknown) == 0 {
		return nil
	}
	return UsageErrorf("%s", strings.Join(unknown, "; ")).WithHint("see: petstorectl help environment")
}

// Contexts returns the store of contexts, in PETSTORE_CONFIG_DIR or this user's folder of configuration.
func (f *DatabaseFinder) Contexts() (contexts.Store, error) {
	dir := f.Getenv("PETSTORE_CONFIG_DIR")
	if dir == "" {
		parent, err := os.UserConfigDir()
		if err != nil {
			return contexts.Store{}, UsageErrorf("can't find your folder of configuration: %v", err).WithHint("set PETSTORE_CONFIG_DIR")
		}
		dir = filepath.Join(parent, "petstorectl")
	}
	return contexts.Store{Dir: dir}, nil
}

// findContext returns the database of a context; of the current one for "", and nothing if there is none.
func (f *DatabaseFinder) findContext(name, setBy string) (DatabaseSource, error) {
	all, err := f.Contexts()
	if err != nil && name == "" {
		return DatabaseSource{}, nil // Without a home there is no current context.
	}
	if err != nil {
		return DatabaseSource{}, err
	}
	file, err := all.Read()
	if err != nil {
		return DatabaseSource{}, ContextError(err, name)
	}
	if name == "" {
		if name = file.Current; name == "" {
			return DatabaseSource{}, nil
		}
		setBy = "the current context " + name
	}
	c, err := file.Get(name)
	if err != nil {
		return DatabaseSource{}, ContextError(err, name)
	}
	secret, err := all.Secret(c)
	if err != nil {
		return DatabaseSource{}, ContextError(err, name)
	}
	url := c.URL
	if secret != "" {
		if url, err = WithPassword(url, secret); err != nil {
			return DatabaseSource{}, UsageErrorf("the URL of context %s can't be read", name).WithHint("log in again: petstorectl login " + name + " URL")
		}
	}
	return DatabaseSource{URL: url, SetBy: setBy, Context: &c, Environment: c.Environment}, nil
}

// ContextError says what to do about an error of contexts.
func ContextError(err error, name string) error {
	untrusted := (*ownfiles.UntrustedError)(nil)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, contexts.ErrNotFound):
		return &Error{Code: ExitNotFound, Message: fmt.Sprintf("no context %q", name), Hint: "see: petstorectl context list"}
	case errors.Is(err, contexts.ErrName):
		return UsageErrorf("invalid name of a context %q", short(name)).WithHint(
			"a name is 1 to 63 characters of a-z, 0-9, - and _, and begins with a letter or digit")
	case errors.As(err, &untrusted):
		return UsageErrorf("%v", untrusted).WithHint("remove it, and log in again: petstorectl login NAME URL")
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
	untrusted := (*ownfiles.UntrustedError)(nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return DatabaseSource{}, nil
	case errors.As(err, &untrusted):
		return DatabaseSource{}, UsageErrorf("%v", untrusted).WithHint(
			"set " + databaseVariable + ", use --database-url, or " +
				`change to a folder where you started "petstore dev"`)
	case err != nil:
		return DatabaseSource{}, UsageErrorf("%v", err).WithHint(`restart "petstore dev", or use --context or --database-url`)
	case dev.DatabaseURL == "":
		return DatabaseSource{}, UsageErrorf("%s has no database_url", path).WithHint(
			`restart "petstore dev", or use --context or --database-url`)
	}
	return DatabaseSource{URL: dev.DatabaseURL, SetBy: path, Dev: &dev, Environment: contexts.Development}, nil
}

// environmentOf is the environment of a database that no context names: that of PETSTORE_ENVIRONMENT, else development on this machine
// and production elsewhere.
func (f *DatabaseFinder) environmentOf(url string) contexts.Environment {
	switch e := contexts.Environment(f.Getenv("PETSTORE_ENVIRONMENT")); e {
	case contexts.Staging, contexts.Production:
		return e
	}
	return EnvironmentOf(store.ReadTarget(url))
}

// EnvironmentOf is development if the target is this machine, otherwise production: what nobody can read may be production.
func EnvironmentOf(target store.Target, err error) contexts.Environment {
	if err == nil && !target.Remote {
		return contexts.Development
	}
	return contexts.Production
}

// DefaultEnvironment is the kind of deployment that new keys are for: that of PETSTORE_ENVIRONMENT, else that of the context, else that of
// the key that "petstore dev" made, else live.
func (f *DatabaseFinder) DefaultEnvironment() keys.Environment {
	switch f.Getenv("PETSTORE_ENVIRONMENT") {
	case "staging":
		return keys.Test
	case "production":
		return keys.Live
	}
	source, err := f.FindDatabase()
	switch {
	case err != nil:
	case source.Dev != nil:
		if token, err := keys.ParseToken(source.Dev.APIKey); err == nil {
			return token.Environment()
		}
	case source.Context != nil && source.Environment != contexts.Production:
		return keys.Test
	}
	return keys.Live
}
