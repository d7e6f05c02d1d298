// Package login holds the commands by which a person connects: login, logout and whoami.
package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/profiles"
	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
)

// NewCmdLogin returns the command login.
func NewCmdLogin(f *cmdutil.Factory) *cobra.Command {
	var (
		url      string
		insecure bool
	)
	cmd := &cobra.Command{
		Use:   "login [URL]",
		Short: "Log in to a database",
		Long: `Log in to a database. Commands and psql use it from then on. Its address, the
login and how TLS is checked become a service of Postgres in .pg_service.conf;
the secret goes to .pgpass. Without URL, log in again with a new secret, or to a
service that is there.

The service has the name "petstore"; for further logins give each a --profile,
whose name may begin with production, staging or development.

The secret is asked for without echo, or read from stdin, unless .pgpass or a
client certificate (?sslcert=FILE&sslkey=FILE in URL) gives it.

The server is verified by its certificate (sslmode=verify-full) unless URL says
otherwise. Name the file of its CA with ?sslrootcert=FILE.`,
		Example: `  petstorectl login postgres://alice@db.example/petstore
  petstorectl login --profile staging 'postgres://alice@db.test/petstore?sslrootcert=ca.pem'
  petstorectl login < new-secret.txt
  psql service=petstore`,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), f, url, insecure) },
	}
	f.OutputFlag(cmd)
	cmdutil.ProfileFlag(f, cmd)
	cmdutil.SetArgs(cmd, cmdutil.Arg{Name: "[URL]", Value: &url})
	cmd.Flags().BoolVar(&insecure, "insecure", false, "do not verify the server: your secret may be read")
	return cmdutil.SetColumns(cmd, WhoamiView.Names())
}

// NewCmdLogout returns the command logout.
func NewCmdLogout(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logout",
		Short: "Remove a login from this machine",
		Long: `Remove what login stored on this machine: the service and its secret. The login
itself is not changed.`,
		Example: "  petstorectl logout --profile staging",
		RunE: func(*cobra.Command, []string) error {
			name := f.ProfileName()
			p, err := profiles.Get(name)
			if err != nil {
				return cmdutil.ProfileError(err, name)
			}
			source, err := f.Describe(cmdutil.DatabaseSource{URL: p.URL()})
			if err != nil {
				return cmdutil.UsageErrorf("%v", err)
			}
			if err := profiles.Remove(name, source.Target); err != nil {
				return cmdutil.ProfileError(err, name)
			}
			f.Messagef("removed the login of profile %s and its secret", name)
			return nil
		},
	}
	cmdutil.ProfileFlag(f, cmd)
	cmdutil.SetArgs(cmd)
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, url string, insecure bool) error {
	source, err := prepare(f, url)
	if err != nil {
		return err
	}
	p, target := source.Profile, source.Target
	verified := target.SSLMode == "verify-full" || target.SSLMode == "verify-ca"
	if target.Remote && !verified && !insecure {
		return cmdutil.UsageErrorf(
			"sslmode=%s does not verify the server: your secret could be read on its way to %s",
			target.SSLMode,
			target.Host,
		).
			WithHint(
				"use sslmode=verify-full, with sslrootcert=FILE for the server's CA; or --insecure if you accept that",
			)
	}
	session, secret, err := connect(ctx, f, source)
	if err != nil {
		return err
	}
	p.ExpiresAt = session.ExpiresAt
	if p.Own {
		err = profiles.Put(*p, target, secret)
	} else if secret != "" {
		err = profiles.PutSecret(target, secret)
	}
	if err != nil {
		return cmdutil.ProfileError(err, p.Name)
	}
	roles := rolesOf(session.Session)
	f.Messagef(
		"logged in as %s (%s): profile %[3]s, psql service=%[3]s",
		session.Name,
		strings.Join(roles, ", "),
		p.Name,
	)
	if secret == "" {
		f.Messagef("no secret is stored: %s", given(session.Session, target))
	}
	if source.Environment == profiles.Production {
		f.Messagef("%s is %s (%s)", p.Name, f.ErrColors.Status(string(source.Environment)), output.Clean(target.Host))
	}
	if len(roles) > 1 || session.Superuser || session.Owner {
		f.Messagef(
			"this login may do more than one role: for everyday work have one of your own: petstorectl staff add " +
				"NAME --role support",
		)
	}
	here := f.DatabaseFinder
	here.Profile = ""
	if other, err := here.FindDatabase(); err == nil && other.Dev != nil {
		f.Messagef("in this folder commands use the database of %s: for this login give them --profile %s",
			output.Clean(other.SetBy), p.Name)
	}
	session.source, f.Changes = source, true // without the secret
	return output.Item(f.Printer(), WhoamiView, session)
}

// given says how a login connected if no secret was asked for.
func given(s admin.Session, target store.Target) string {
	switch {
	case s.Certificate != "":
		return "you logged in with the client certificate " + output.Clean(s.Certificate)
	case target.PasswordFrom == "":
		return "a line in .pgpass gave it, or the server asks for none"
	}
	return target.PasswordFrom + " gave it, and must give it to later commands too"
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// prepare returns the profile to store, and how to connect to it before it is stored. A service
// that another program wrote is used unchanged.
func prepare(f *cmdutil.Factory, text string) (source cmdutil.DatabaseSource, err error) {
	name := f.ProfileName()
	p, err := profiles.Get(name)
	switch {
	case err != nil && !errors.Is(err, profiles.ErrNotFound):
		return source, cmdutil.ProfileError(err, name)
	case err != nil && text == "":
		return source, cmdutil.UsageErrorf("missing argument: URL, because there is no profile %.80s yet", name).
			WithHint("petstorectl login" + profiles.Profile{Name: name}.Flag() + " postgres://YOU@HOST/petstore")
	case text != "" && !nameForm.MatchString(name):
		return source, cmdutil.UsageErrorf(
			"invalid name of a profile %.80q",
			name,
		).WithHint("a name has letters, digits, -, _ and .")
	case err == nil && text != "" && !p.Own:
		return source, cmdutil.ProfileError(profiles.ErrNotOwn, name)
	}
	source.URL = p.URL()
	if text != "" {
		settings, err := complete(text)
		if err != nil {
			return source, err
		}
		p = profiles.Profile{Name: name, Own: true}
		for _, key := range slices.Sorted(maps.Keys(settings)) {
			p.Settings = append(p.Settings, key+"="+settings.Get(key))
		}
		source.URL = "postgres://?" + settings.Encode()
	}
	source.Profile, source.Environment = &p, p.Environment()
	if source, err = f.Describe(source); err != nil {
		return source, cmdutil.UsageErrorf("%v", err)
	}
	return source, nil
}

// connect returns the session, and the secret if it had to be asked for.
func connect(
	ctx context.Context,
	f *cmdutil.Factory,
	source cmdutil.DatabaseSource,
) (s Identity, secret string, err error) {
	s, err = readIdentity(ctx, f, source)
	if store.IsPasswordRefused(err) {
		if secret, err = f.AskSecret(ctx, "secret of "+source.Target.Login, f.ReadTextLine); err != nil {
			return s, "", err
		}
		source.URL, source.Target.PasswordFrom = source.URL+"&password="+url.QueryEscape(secret), "stdin"
		s, err = readIdentity(ctx, f, source)
	}
	if store.IsForbidden(err) {
		err = cmdutil.NoRoleError(source.Target.Login)
	} else if err != nil {
		err = source.Explain(err)
	}
	return s, secret, err
}

func readIdentity(ctx context.Context, f *cmdutil.Factory, source cmdutil.DatabaseSource) (Identity, error) {
	db, err := cmdutil.Open(ctx, f, source)
	if err != nil {
		return Identity{}, err
	}
	defer func() { _ = db.Close() }()
	return identify(ctx, f, db, source)
}

// complete returns the settings of a URL, including everything that says where it leads and how TLS
// is checked, so that the profile means the same tomorrow and in another folder.
func complete(text string) (url.Values, error) {
	errURL := cmdutil.UsageErrorf("the URL can't be read").WithHint("want postgres://YOU@HOST/petstore")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errURL
	}
	all := u.Query()
	_, hasPassword := u.User.Password()
	if hasPassword || all.Has("password") || all.Has("sslpassword") {
		return nil, cmdutil.UsageErrorf(
			"the URL contains a password; passwords are read from stdin, never from the command line",
		).
			WithHint("it is now in your shell history: have it changed: petstorectl staff rotate LOGIN")
	}
	if all.Has("service") {
		return nil, cmdutil.UsageErrorf("the URL names a service").WithHint(
			"log in to it without a URL: petstorectl login --profile SERVICE",
		)
	}
	if strings.Contains(u.Host+all.Get("host"), ",") {
		return nil, cmdutil.UsageErrorf("the URL names several hosts").WithHint("name one: a login has one secret")
	}
	t, err := store.ReadTarget(text)
	if err != nil {
		return nil, cmdutil.UsageErrorf("%v", err)
	}
	standard := "prefer"
	if t.Remote || t.RootCert != "" {
		standard = "verify-full"
	}
	if t.RootCert == "" && cmp.Or(t.SSLMode, standard) == "verify-full" {
		t.RootCert = "system" // libpq would look for a file of this user.
	}
	for key, value := range map[string]string{
		"host": t.Host, "port": fmt.Sprint(t.Port), "dbname": t.Database, "user": t.Login,
		"sslmode":     cmp.Or(t.SSLMode, standard),
		"sslrootcert": t.RootCert, "sslcert": t.Cert, "sslkey": t.Key,
	} {
		isFile := key == "sslcert" || key == "sslkey" || key == "sslrootcert" && value != "system"
		if isFile && value != "" {
			if value, err = filepath.Abs(value); err != nil {
				return nil, cmdutil.UsageErrorf("%s: %v", key, err)
			}
		}
		if value != "" {
			all.Set(key, value)
		}
	}
	for key := range all {
		if strings.ContainsAny(key+all.Get(key), "\r\n") {
			return nil, errURL // A service file has one setting per line.
		}
	}
	return all, nil
}

// rolesOf names the roles that a login is a member of. A superuser is a member of all.
func rolesOf(s admin.Session) []string {
	if s.Superuser {
		return []string{"superuser"}
	}
	roles := slices.Clone(s.Roles())
	if s.Owner {
		roles = append(roles, "owner of the tables")
	}
	return roles
}

// Identity is the login and the database that commands connect with.
type Identity struct {
	admin.Session
	source  cmdutil.DatabaseSource
	newKeys cmdutil.NewKeys
}

// identify reads the login, and which deployments new keys are for. If these are unknown, each new
// key must name its own.
func identify(
	ctx context.Context,
	f *cmdutil.Factory,
	db *store.DB,
	source cmdutil.DatabaseSource,
) (Identity, error) {
	session, err := db.Session(ctx)
	if err != nil {
		return Identity{}, err
	}
	decided, _ := f.NewKeysOf(ctx, db, source)
	return Identity{session, source, decided}, nil
}

// WhoamiView shows an Identity.
var WhoamiView = output.View[Identity]{
	{Name: "login", Value: func(i Identity) any { return i.Name }},
	{Name: "roles", Value: func(i Identity) any { return rolesOf(i.Session) }},
	{Name: "environment", Value: func(i Identity) any { return string(i.source.Environment) }},
	{Name: "new_keys", Value: func(i Identity) any { return i.newKeys.String() }},
	{Name: "profile", Value: func(i Identity) any {
		if i.source.Profile == nil {
			return ""
		}
		return i.source.Profile.Name
	}},
	{Name: "set_by", Value: func(i Identity) any { return i.source.SetBy }},
	{Name: "database", Value: func(i Identity) any { return i.Database }},
	{Name: "host", Value: func(i Identity) any { return i.source.Target.Address() }},
	{Name: "server_version", Value: func(i Identity) any { return i.ServerVersion }},
	{Name: "tls", Value: func(i Identity) any { return i.tls() }},
	{Name: "secret_expires_at", Value: func(i Identity) any { return i.ExpiresAt }},
}

// tls says how the connection is protected.
func (i Identity) tls() string {
	switch {
	case i.TLS == "" && i.source.Target.IsSocket():
		return "none: a Unix socket"
	case i.TLS == "":
		return "none"
	}
	text := i.TLS + ", the server is not verified"
	if i.source.Target.SSLMode == "verify-full" || i.source.Target.SSLMode == "verify-ca" {
		text = i.TLS + ", the server is verified"
	}
	if i.Certificate != "" {
		text += ", client certificate " + i.Certificate
	}
	return text
}

// NewCmdWhoami returns the command whoami.
func NewCmdWhoami(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.SetColumns(cmdutil.OutputCommand(f, &cobra.Command{
		Use:   "whoami",
		Short: "Show your login and your database",
		Long: `Show the login and the database that commands use: login, roles, database,
server, environment, profile, and how TLS protects the connection. new_keys is
what key issue makes without --environment, and what decides it.`,
		Example: `  petstorectl whoami
  petstorectl whoami --profile staging -o json`,
		RunE: f.Read(func(ctx context.Context, db *store.DB) error {
			source, err := f.FindDatabase()
			if err != nil {
				return err
			}
			identity, err := identify(ctx, f, db, source)
			if err != nil {
				return err
			}
			return output.Item(f.Printer(), WhoamiView, identity)
		}),
	}), WhoamiView.Names())
}
