package login

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/operate"
)

// Identity is the login and the database that commands connect with.
type Identity struct {
	operate.Session
	source cmdutil.DatabaseSource
}

// WhoamiView shows an Identity.
var WhoamiView = output.View[Identity]{
	{Name: "login", Value: func(i Identity) any { return i.Name }},
	{Name: "roles", Value: func(i Identity) any { return rolesOf(i.Session) }},
	{Name: "environment", Value: func(i Identity) any { return string(i.source.Environment) }},
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
server, environment, profile, and how TLS protects the connection.`,
		Example: `  petstorectl whoami
  petstorectl whoami --profile staging -o json`,
		RunE: f.Read(func(ctx context.Context, db *store.DB) error {
			source, err := f.FindDatabase()
			if err != nil {
				return err
			}
			session, err := db.Session(ctx)
			if err != nil {
				return err
			}
			return output.Item(f.Printer(), WhoamiView, Identity{session, source})
		}),
	}), WhoamiView.Names())
}
