package ctl

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/audit"
	"petstore.example/internal/ctl/ban"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/doctor"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/ctl/limits"
	"petstore.example/internal/ctl/login"
	"petstore.example/internal/ctl/migrate"
	"petstore.example/internal/ctl/plan"
	"petstore.example/internal/ctl/retention"
	"petstore.example/internal/ctl/staff"
	"petstore.example/internal/ctl/tail"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/ctl/undo"
	"petstore.example/internal/ctl/usage"
	"petstore.example/internal/ctl/webhook"
	"petstore.example/internal/ctl/why"
)

// Run executes a command line and returns the exit code.
func Run(ctx context.Context, f *cmdutil.Factory, args []string) int {
	f.JSONErrors = cmdutil.AsksForJSON(args)
	err := cmdutil.CheckText(args)
	if err == nil {
		root := newCmdRoot(f)
		root.SetArgs(args)
		if err = cmdutil.CheckCommand(root, args); err == nil {
			var cmd *cobra.Command
			cmd, err = root.ExecuteContextC(ctx)
			f.SayLast()
			err = f.ExplainUnknown(f.ExplainRights(ctx, cmd, err))
		}
	}
	return f.Report(ctx, err)
}

// withoutEnvironment are the commands that read no variables.
var withoutEnvironment = []string{
	"petstorectl",
	"help",
	"version",
	"completion",
	cobra.ShellCompRequestCmd,
	cobra.ShellCompNoDescRequestCmd,
}

// Root returns the root command. The reference is generated from it.
func Root(f *cmdutil.Factory) *cobra.Command { return newCmdRoot(f) }

//nolint:funlen // the list of commands
func newCmdRoot(f *cmdutil.Factory) *cobra.Command {
	var showVersion bool
	cmd := &cobra.Command{
		Use:   "petstorectl",
		Short: "Manage tenants, API keys, plans, bans and usage",
		Long: `The command line of staff: find out about the customers of the animal store,
their API keys, plans, bans and usage, and change them.

A TENANT is a customer; its name or its number names it. A KEY-ID begins with
key_; a key itself is only read from stdin. Try a change with --dry-run first.

Log in once with "petstorectl login"; "petstorectl whoami" shows your database
and login, and what sets them.`,
		Example: `  petstorectl why billing@acme.example
  petstorectl why acme
  petstorectl plan assign acme business --reason "order 18"
  petstorectl key list --expires-within 30d
  petstorectl audit list --tenant acme --since 7d
  petstorectl undo`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if showVersion && len(args) == 0 {
				return printVersion(f)
			}
			return cmdutil.GroupRun(cmd, args)
		},
		Args: cobra.ArbitraryArgs,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			f.Command = strings.TrimPrefix(cmd.CommandPath(), "petstorectl ")
			if slices.Contains(withoutEnvironment, cmd.Name()) {
				return nil
			}
			return f.CheckEnvironment()
		},
	}
	cmd.SetIn(f.In)
	cmd.SetOut(f.Out)
	cmd.SetErr(f.ErrOut)
	cmd.SetFlagErrorFunc(cmdutil.FlagError)
	cmd.Flags().BoolVar(&showVersion, "version", false, "print the version")
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(
		tenant.NewCmd(f),
		key.NewCmd(f),
		plan.NewCmd(f),
		ban.NewCmd(f),
		limits.NewCmd(f),
		retention.NewCmd(f),
		webhook.NewCmd(f),
		usage.NewCmd(f),
		audit.NewCmd(f),
		why.NewCmd(f),
		undo.NewCmd(f),
		staff.NewCmd(f),
		login.NewCmdLogin(f),
		login.NewCmdLogout(f),
		login.NewCmdWhoami(f),
		tail.NewCmd(f),
		doctor.NewCmd(f),
		migrate.NewCmd(f),
		newCmdCompletion(f),
		newCmdVersion(f),
	)
	setHelp(f, cmd)
	return cmd
}
