package main

import (
	"errors"
	"io/fs"
	"net/url"
	"regexp"
	"strings"

	"petstore.example/internal/devfile"
	"petstore.example/internal/keys"
)

// These name the database when no flag does, the first before the second.
const (
	databaseVariable = "PETSTORE_DATABASE_URL"
	devFileName      = ".petstore/dev.json"
)

// foundDatabase is where the database is and who said so.
type foundDatabase struct {
	url  string
	from string
	// dev is what "petstore dev" wrote, nil when the database was named otherwise.
	dev *devfile.File
}

// findDatabase returns the database that the flag names, else the environment, else the dev.json nearest to the working
// folder.
func (f *factory) findDatabase() (foundDatabase, error) {
	found := foundDatabase{url: f.databaseURL, from: "--database-url"}
	if found.url == "" {
		found = foundDatabase{url: f.getenv(databaseVariable), from: databaseVariable}
	}
	if found.url == "" {
		var err error
		if found, err = f.findDevFile(); err != nil {
			return foundDatabase{}, err
		}
	}
	if found.url == "" {
		return foundDatabase{}, usageProblem("no database is configured").withHint(
			"set " + databaseVariable + ", use --database-url, or " +
				`change to a folder where "petstore dev" was started`)
	}
	f.passwords = append(f.passwords, passwordsIn(found.url)...)
	return found, nil
}

func (f *factory) findDevFile() (foundDatabase, error) {
	dir, err := f.workDir()
	if err != nil {
		return foundDatabase{}, nil //nolint:nilerr // A folder that is gone holds no note.
	}
	dev, err := devfile.Find(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return foundDatabase{}, nil
	case err != nil:
		return foundDatabase{}, usageProblem("%v", err).withHint(`restart "petstore dev", or use --database-url`)
	case dev.DatabaseURL == "":
		return foundDatabase{}, usageProblem("%s has no database_url", devFileName).withHint(
			`restart "petstore dev", or use --database-url`)
	}
	return foundDatabase{url: dev.DatabaseURL, from: devFileName, dev: &dev}, nil
}

// explain says which database could not be opened and who named it.
func (d foundDatabase) explain(err error) error {
	if codeOf(err) == exitInterrupted {
		return err
	}
	if codeOf(err) == exitDatabase {
		p := &problem{code: exitDatabase, message: "can't connect to the database set by " + d.from, cause: err}
		if d.dev != nil {
			p.hint = `is "petstore dev" running?`
		}
		return p
	}
	return &problem{code: exitUsage, message: "can't use the database set by " + d.from, cause: err}
}

// standardEnvironment is the kind of deployment that new keys are for when nobody says: PETSTORE_ENVIRONMENT's, else that of
// the key that "petstore dev" made, else live.
func (f *factory) standardEnvironment() keys.Environment {
	switch f.getenv("PETSTORE_ENVIRONMENT") {
	case "staging":
		return keys.Test
	case "production":
		return keys.Live
	}
	if found, err := f.findDatabase(); err == nil && found.dev != nil {
		if token, err := keys.ParseToken(found.dev.APIKey); err == nil {
			return token.Environment()
		}
	}
	return keys.Live
}

var passwordInDSN = regexp.MustCompile(`password\s*=\s*('(?:[^'\\]|\\.)*'|\S+)`)

// passwordsIn returns the passwords that a URL or connection string holds, as written and as meant.
func passwordsIn(dsn string) []string {
	var found []string
	if _, rest, ok := strings.Cut(dsn, "://"); ok {
		userinfo := rest[:max(0, strings.LastIndex(rest, "@"))]
		if _, written, ok := strings.Cut(userinfo, ":"); ok {
			found = append(found, written)
		}
	}
	if u, err := url.Parse(dsn); err == nil {
		if meant, ok := u.User.Password(); ok {
			found = append(found, meant)
		}
		found = append(found, u.Query().Get("password"))
	}
	for _, m := range passwordInDSN.FindAllStringSubmatch(dsn, -1) {
		found = append(found, m[1], strings.Trim(m[1], "'"))
	}
	return found
}

// redact takes the database passwords out of a text.
func (f *factory) redact(text string) string {
	for _, password := range f.passwords {
		if password != "" {
			text = strings.ReplaceAll(text, password, "…")
		}
	}
	return text
}
