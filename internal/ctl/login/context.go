package login

import (
	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/contexts"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

// Stored is a context, where it leads, and whether its secret is stored.
type Stored struct {
	contexts.Context
	target    store.Target
	hasSecret bool
}

// contextView shows a context; current is the name of the current one.
func contextView(current string) output.View[Stored] {
	return output.View[Stored]{
		{Name: "name", Value: func(s Stored) any { return s.Name }, InList: true},
		{Name: "current", Value: func(s Stored) any { return s.Name == current }, InList: true},
		{Name: "environment", Value: func(s Stored) any { return string(s.Environment) }, InList: true},
		{Name: "login", Value: func(s Stored) any { return s.target.Login }, InList: true},
		{Name: "host", Value: func(s Stored) any { return s.target.Host }, InList: true, MinWidth: output.TextWidth},
		{Name: "database", Value: func(s Stored) any { return s.target.Database }, InList: true, MinWidth: output.TextWidth},
		{Name: "sslmode", Value: func(s Stored) any { return s.target.SSLMode }},
		{Name: "secret_stored", Value: func(s Stored) any { return s.hasSecret }},
		{Name: "expires_at", Value: func(s Stored) any { return s.ExpiresAt }, InList: true},
	}
}

// ContextView shows a context.
var ContextView = contextView("")

// view returns what is shown of a context. One whose service is gone has no target.
func view(all contexts.Store, c contexts.Context) Stored {
	target, _ := store.ReadTarget(c.URL)
	secret, _ := all.Secret(c)
	return Stored{c, target, secret != ""}
}

// NewCmdContext returns the command context.
func NewCmdContext(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("context,contexts", "Choose among the databases that you logged in to", newCmdContextList(f), newCmdContextUse(f), newCmdContextRemove(f))
}

func newCmdContextList(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the contexts",
		Example: "  petstorectl context list",
		RunE: func(*cobra.Command, []string) error {
			all, err := f.Contexts()
			if err != nil {
				return err
			}
			file, err := all.Read()
			if err != nil {
				return cmdutil.ContextError(err, "")
			}
			var list []Stored
			for _, c := range file.List() {
				list = append(list, view(all, c))
			}
			if len(list) == 0 {
				f.Messagef("no contexts; log in: petstorectl login NAME postgres://YOU@HOST/petstore")
			}
			return cmdutil.PrintList(f, contextView(file.Current), list)
		},
	}
	f.OutputFlag(cmd)
	cmdutil.SetArgs(cmd)
	return cmd
}

func newCmdContextUse(f *cmdutil.Factory) *cobra.Command {
	return contextCommand(f, &cobra.Command{
		Use:   "use NAME",
		Short: "Make a context the current one",
		Long: `Make a context the current one. Commands use it that are given no other database
by --database-url, --context, PETSTORE_DATABASE_URL, PETSTORE_CONTEXT, or the
.petstore/dev.json of this folder.`,
		Example: "  petstorectl context use staging",
	}, contexts.Store.Use, func(c contexts.Context) {
		f.Messagef("%s is now the current context: %s", c.Name, f.ErrColors.Status(string(c.Environment)))
	})
}

func newCmdContextRemove(f *cmdutil.Factory) *cobra.Command {
	return contextCommand(f, &cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm"},
		Short:   "Remove a context and its secret from this machine",
		Example: "  petstorectl context remove staging",
	}, contexts.Store.Remove, func(c contexts.Context) { f.Messagef("removed context %s", c.Name) })
}

// NewCmdLogout returns the command logout.
func NewCmdLogout(f *cmdutil.Factory) *cobra.Command {
	return contextCommand(f, &cobra.Command{
		Use:   "logout NAME",
		Short: "Remove the secret of a context from this machine",
		Long: `Remove the secret of a context from this machine. The context stays: log in
again with petstorectl login NAME. The login itself is not changed.`,
		Example: "  petstorectl logout production",
	}, contexts.Store.RemoveSecret, func(c contexts.Context) {
		f.Messagef("removed the secret of context %s; log in again: petstorectl login %[1]s", c.Name)
	})
}

// contextCommand completes a command that changes one context.
func contextCommand(f *cmdutil.Factory, cmd *cobra.Command, change func(contexts.Store, string) error, report func(contexts.Context)) *cobra.Command {
	var name string
	f.OutputFlag(cmd)
	cmdutil.SetArgs(cmd, contextArg(f, &name))
	cmd.RunE = func(*cobra.Command, []string) error {
		all, err := f.Contexts()
		if err != nil {
			return err
		}
		before, err := all.Read()
		if err != nil {
			return cmdutil.ContextError(err, name)
		}
		if err := change(all, name); err != nil {
			return cmdutil.ContextError(err, name)
		}
		after, err := all.Read()
		if err != nil {
			return cmdutil.ContextError(err, name)
		}
		c, err := after.Get(name)
		if err != nil { // removed
			c, err = before.Get(name)
		}
		if err != nil {
			return cmdutil.ContextError(err, name)
		}
		report(c)
		return cmdutil.PrintChanged(f, contextView(after.Current), view(all, c))
	}
	return cmd
}
