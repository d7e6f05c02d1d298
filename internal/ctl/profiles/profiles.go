// Package profiles keeps a person's logins where libpq does, so that psql has them too. A service
// in pg_service.conf says where a database is and how TLS is checked; .pgpass has the secret. A
// profile has the name of its service.
//
// Only this user may read the files written here. A file or folder that another user could have
// written is an ownfiles.UntrustedError: it could send this user's secret to another database,
// which would answer in place of the real one. Each file is replaced atomically, and other people's
// lines stay. Of two changes at the same moment the last one counts. All functions are safe for
// concurrent use.
package profiles

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/envvars"
	"petstore.example/internal/ownfiles"
	"petstore.example/internal/store"
)

// Default is the profile if none is named.
const Default = "petstore"

// Environment is the kind of deployment that a database serves.
type Environment string

// The environments. In production, commands that can't be taken back name it in their question.
const (
	Production  Environment = "production"
	Staging     Environment = "staging"
	Development Environment = "development"
)

// Profile is a service.
type Profile struct {
	Name string
	// Settings are the lines of the service, such as host=db.
	Settings []string
	// Own says that Put wrote it.
	Own bool
	// ExpiresAt is when the secret expires; zero for never or unknown.
	ExpiresAt time.Time
}

// URL leads to the database of the profile, without its secret.
func (p Profile) URL() string { return "postgres://?service=" + url.QueryEscape(p.Name) }

// Flag is the flag that names the profile, with a space before it; "" if it is the default.
func (p Profile) Flag() string {
	if p.Name == Default {
		return ""
	}
	return " --profile " + p.Name
}

// Environment is the environment with which the name begins, as in staging-eu; "" for none.
func (p Profile) Environment() Environment {
	for _, e := range []Environment{Production, Staging, Development} {
		if strings.HasPrefix(p.Name, string(e)) {
			return e
		}
	}
	return ""
}

var (
	// ErrNotFound: there is no service of this name.
	ErrNotFound = errors.New("no such profile")
	// ErrNotOwn: the service was not written by Put.
	ErrNotOwn = errors.New("another wrote this service")
)

// mark is in each service that Put writes. The time follows it if the secret expires.
const mark = "# petstorectl login; its secret expires: "

// service finds a service by its name: it ends before an empty line or the next name.
func service(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\[(` + name + `)\]\s*\n((?:[^\[\r\n].*\n)*)`)
}

// List returns the profiles as they are in the file.
func List() (list []Profile, err error) {
	text, err := read(store.ServiceFile(), ownfiles.ReadFile)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	for _, found := range service(`[^\]\n]+`).FindAllStringSubmatch(text+"\n", -1) {
		settings := strings.Split(strings.TrimSpace(found[2]), "\n")
		note, own := strings.CutPrefix(settings[0], mark)
		expires, _ := time.Parse(time.RFC3339Nano, note) // zero for never
		if own {
			settings = settings[1:]
		}
		list = append(list, Profile{Name: found[1], Settings: settings, Own: own, ExpiresAt: expires})
	}
	return list, err
}

// Get returns a profile, or ErrNotFound.
func Get(name string) (Profile, error) {
	list, err := List()
	if i := slices.IndexFunc(list, func(p Profile) bool { return p.Name == name }); err == nil && i >= 0 {
		return list[i], nil
	}
	return Profile{}, cmp.Or(err, ErrNotFound)
}

// Put stores a profile, and the secret of its target if there is one. The secret goes before the
// other lines of .pgpass, because a pattern in one of those may match first. Put returns ErrNotOwn
// rather than replace a service that a person wrote.
func Put(p Profile, t store.Target, secret string) error {
	expires := "never"
	if !p.ExpiresAt.IsZero() {
		expires = p.ExpiresAt.UTC().Format(time.RFC3339Nano)
	}
	lines := "\n[" + p.Name + "]\n" + mark + expires + "\n" + strings.Join(p.Settings, "\n") + "\n"
	if err := replace(p.Name, lines); err != nil || secret == "" {
		return err
	}
	return PutSecret(t, secret)
}

// PutSecret stores the secret of a target.
func PutSecret(t store.Target, secret string) error {
	return edit(
		store.PassFile(),
		func(text string) string { return line(t) + escape.Replace(secret) + "\n" + without(text, t) },
	)
}

// Remove removes a profile that Put wrote, and its secret. It returns ErrNotFound or ErrNotOwn.
func Remove(name string, t store.Target) error {
	if _, err := Get(name); err != nil {
		return err
	}
	if err := replace(name, ""); err != nil {
		return err
	}
	return edit(store.PassFile(), func(text string) string { return without(text, t) })
}

// replace replaces a service that Put wrote, or appends the lines at the end.
func replace(name, lines string) error {
	if p, err := Get(name); err == nil && !p.Own {
		return ErrNotOwn
	}
	return edit(store.ServiceFile(), func(text string) string {
		text = strings.TrimRight(service(regexp.QuoteMeta(name)).ReplaceAllLiteralString(text, ""), "\n")
		return strings.TrimLeft(text+"\n"+lines, "\n")
	})
}

var escape = strings.NewReplacer(`\`, `\\`, `:`, `\:`)

// line is the beginning of the line in .pgpass that has a target's secret.
func line(t store.Target) string {
	return fmt.Sprintf(
		"%s:%d:%s:%s:",
		escape.Replace(t.Host),
		t.Port,
		escape.Replace(t.Database),
		escape.Replace(t.Login),
	)
}

// without is the text of .pgpass without that line.
func without(text string, t store.Target) string {
	lines := slices.Collect(strings.Lines(text))
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, line(t)) }), "")
}

// HasSecret tells whether there is such a line, in a file that only this user may read.
func HasSecret(t store.Target) bool {
	text, err := read(store.PassFile(), ownfiles.ReadSecret)
	return err == nil && without(text, t) != text
}

// read reads a file. Without a home directory the file does not exist.
func read(path string, as func(*os.Root, string) ([]byte, error)) (string, error) {
	if info, err := os.Stat(filepath.Dir(path)); path == "" || err != nil || !info.IsDir() {
		return "", fs.ErrNotExist
	}
	content, err := ownfiles.ReadPath(path, as)
	if err != nil {
		return "", err
	}
	return readable(path, content)
}

// readable returns the content of a file without its byte order mark.
func readable(path string, content []byte) (string, error) {
	if _, err := envvars.Read(string(content)); err != nil {
		return "", fmt.Errorf("%s %w", path, err)
	}
	return strings.TrimPrefix(string(content), "\ufeff"), nil
}

// edit replaces the text of a file, "" if there is none, with the result of change.
func edit(path string, change func(text string) string) error {
	root, err := ownfiles.MakeDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	content, err := ownfiles.ReadFile(root, filepath.Base(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := readable(path, content)
	if err != nil {
		return err
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	changed := change(text)
	if changed == "" && text == "" {
		return nil
	}
	return ownfiles.WriteFile(root, filepath.Base(path), []byte(changed))
}
