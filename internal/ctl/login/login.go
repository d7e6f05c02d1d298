// Package login holds the commands by which a person connects: login, logout, context and whoami.
package login

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/contexts"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type loginOptions struct {
	*cmdutil.Factory

	name, url   string
	environment contexts.Environment
	insecure    bool
}

// NewCmdLogin returns the command login.
func NewCmdLogin(f *cmdutil.Factory) *cobra.Command {
	o := &loginOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "login NAME [URL]",
		Short: "Log in to a database and store it as a context",
		Long: `Log in to a database, and store it under a name as a context: where it is, as
whom to connect, and how TLS is checked. It becomes the current context, which
commands use that name no other database. Without URL, log in again to a context
that is stored, with a new secret.

The secret is asked for without echo, or read from stdin, unless .pgpass, a
Postgres service (?service=NAME in URL) or a client certificate (?sslcert=FILE
and sslkey=FILE in URL) gives it. It is stored in a file that only you may read.

The server is verified by its certificate (sslmode=verify-full) unless URL says
otherwise. Name the file of its CA with ?sslrootcert=FILE.`,
		Example: `  petstorectl login production postgres://alice@db.example/petstore
  petstorectl login staging 'postgres://alice@db.test/petstore?sslrootcert=ca.pem'
  petstorectl login production < new-secret.txt`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLogin(cmd.Context(), o) },
	}
	f.OutputFlag(cmd)
	cmdutil.SetArgs(cmd, contextArg(f, &o.name), cmdutil.Arg{Name: "[URL]", Value: &o.url})
	cmdutil.EnumFlag(cmd, &o.environment, "environment", "",
		"`KIND`: production, staging or development\n(default: development on this machine)",
		contexts.Production, contexts.Staging, contexts.Development)
	cmd.Flags().BoolVar(&o.insecure, "insecure", false, "do not verify the server: your secret may be read")
	return cmd
}

// contextArg is the argument NAME of a context.
func contextArg(f *cmdutil.Factory, value *string) cmdutil.Arg {
	return cmdutil.Arg{Name: "NAME", Value: value, Complete: cmdutil.ContextNames(f), Check: func(name string) error {
		if strings.Contains(name, "://") {
			// It is not repeated: it may hold a password.
			return cmdutil.UsageErrorf("missing argument: NAME of the context").WithHint("put a name before the URL: petstorectl login NAME URL")
		}
		return cmdutil.ContextError(contexts.CheckName(name), name)
	}}
}

func runLogin(ctx context.Context, o *loginOptions) error {
	all, err := o.Contexts()
	if err != nil {
		return err
	}
	c, target, err := o.prepare(all)
	if err != nil {
		return err
	}
	session, secret, err := o.connect(ctx, c)
	if err != nil {
		return err
	}
	c.ExpiresAt = session.ExpiresAt
	before, _ := all.Secret(c)
	if err := all.Put(c, secret); err != nil {
		return cmdutil.ContextError(err, c.Name)
	}
	o.Messagef("logged in to %s as %s (%s): it is now the current context", c.Name, session.Name, strings.Join(rolesOf(session), ", "))
	if secret == "" {
		o.Messagef("no secret is stored: %s", given(session, target))
	}
	if secret == "" && before != "" {
		o.Messagef("the one that was stored before is removed")
	}
	if c.Environment == contexts.Production {
		o.Messagef("%s is %s (%s)", c.Name, o.ErrColors.Status(string(c.Environment)), output.Clean(target.Host))
	}
	if len(rolesOf(session)) > 1 || session.Superuser || session.Owner {
		o.Messagef("this login may do more than one role: for everyday work have one of your own: petstorectl staff add NAME --role support")
	}
	return cmdutil.PrintChanged(o.Factory, contextView(c.Name), view(all, c))
}

// given says what a login used for which no secret was asked.
func given(s store.Session, target store.Target) string {
	switch {
	case s.Certificate != "":
		return "you logged in with the client certificate " + output.Clean(s.Certificate)
	case target.PasswordFrom == "":
		return "a line in .pgpass gave it, or the server asks for none"
	}
	return target.PasswordFrom + " gave it, and must give it to later commands too"
}

// prepare returns the context to store, and where it leads.
func (o *loginOptions) prepare(all contexts.Store) (c contexts.Context, target store.Target, err error) {
	file, err := all.Read()
	if err != nil {
		return c, target, cmdutil.ContextError(err, o.name)
	}
	c = contexts.Context{Name: o.name, URL: o.url}
	if o.url == "" {
		if c, err = file.Get(o.name); err != nil {
			return c, target, cmdutil.UsageErrorf("missing argument: URL, because there is no context %s yet", o.name).
				WithHint("petstorectl login " + o.name + " postgres://YOU@HOST/petstore")
		}
	}
	if c.URL, target, err = completeURL(c.URL); err != nil {
		return c, target, err
	}
	verified := target.SSLMode == "verify-full" || target.SSLMode == "verify-ca"
	if target.Remote && !verified && !o.insecure {
		return c, target, cmdutil.UsageErrorf("sslmode=%s does not verify the server: your secret could be read on its way to %s", target.SSLMode, target.Host).
			WithHint("use sslmode=verify-full, with sslrootcert=FILE for the server's CA; or --insecure if you accept that")
	}
	if o.environment != "" {
		c.Environment = o.environment
	} else if c.Environment == "" {
		c.Environment = cmdutil.EnvironmentOf(target, nil)
	}
	return c, target, nil
}

// connect returns what the connection is, and the secret if one had to be asked for.
func (o *loginOptions) connect(ctx context.Context, c contexts.Context) (s store.Session, secret string, err error) {
	source := cmdutil.DatabaseSource{URL: c.URL, Environment: c.Environment}
	s, err = o.session(ctx, source)
	if store.IsPasswordRefused(err) {
		if secret, err = o.AskSecret(ctx, "secret of "+store.LoginOf(c.URL)); err != nil {
			return s, "", err
		}
		if source.URL, err = cmdutil.WithPassword(c.URL, secret); err != nil {
			return s, "", errURL()
		}
		s, err = o.session(ctx, source)
	}
	if store.IsForbidden(err) {
		return s, "", &cmdutil.Error{Code: cmdutil.ExitRefused, Message: fmt.Sprintf(
			"your login %s is in none of the roles %s and %s: ask an administrator for one", store.LoginOf(c.URL), store.SupportRole, store.BillingRole)}
	}
	if err != nil {
		return s, "", source.Explain(err)
	}
	return s, secret, nil
}

func (o *loginOptions) session(ctx context.Context, source cmdutil.DatabaseSource) (store.Session, error) {
	db, err := cmdutil.Open(ctx, o.Factory, source)
	if err != nil {
		return store.Session{}, err
	}
	defer func() { _ = db.Close() }()
	return db.Session(ctx)
}

func errURL() error {
	return cmdutil.UsageErrorf("the URL can't be read").WithHint("want postgres://YOU@HOST/petstore")
}

// completeURL returns the URL with everything in it that says where it leads and how TLS is checked, so that the context means the same
// tomorrow and in another folder.
func completeURL(text string) (string, store.Target, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", store.Target{}, errURL()
	}
	query := u.Query()
	_, hasPassword := u.User.Password()
	if hasPassword || query.Has("password") || query.Has("sslpassword") {
		return "", store.Target{}, cmdutil.UsageErrorf("the URL contains a password; passwords are read from stdin, never from the command line").
			WithHint("it is now in your shell history: have it changed: petstorectl staff rotate LOGIN")
	}
	target, err := store.ReadTarget(text)
	if err != nil {
		return "", target, cmdutil.UsageErrorf("%v", err)
	}
	if target.SSLMode == "" {
		target.SSLMode = "prefer"
		if target.Remote || target.RootCert != "" {
			target.SSLMode = "verify-full"
		}
	}
	setDefault := func(name, value string) {
		if value != "" && !query.Has(name) {
			query.Set(name, value)
		}
	}
	setDefault("sslmode", target.SSLMode)
	setDefault("sslrootcert", target.RootCert)
	setDefault("sslcert", target.Cert)
	setDefault("sslkey", target.Key)
	if !query.Has("service") {
		u.User = url.User(target.Login)
		u.Path = "/" + target.Database
		if u.Host == "" {
			setDefault("host", target.Host)
		}
		if u.Port() == "" {
			setDefault("port", fmt.Sprint(target.Port))
		}
	}
	for _, name := range []string{"sslrootcert", "sslcert", "sslkey"} {
		path := query.Get(name)
		if path == "" || name == "sslrootcert" && path == "system" {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return "", target, cmdutil.UsageErrorf("%s: %v", name, err)
		}
		query.Set(name, path)
	}
	u.RawQuery = query.Encode()
	return u.String(), target, nil
}

// rolesOf names what a login is a member of. A superuser is a member of everything.
func rolesOf(s store.Session) []string {
	if s.Superuser {
		return []string{"superuser"}
	}
	roles := slices.Clone(s.Roles())
	if s.Owner {
		roles = append(roles, "owner of the tables")
	}
	return roles
}
