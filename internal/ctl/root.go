package ctl

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/audit"
	"petstore.example/internal/ctl/ban"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/doctor"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/ctl/limits"
	"petstore.example/internal/ctl/migrate"
	"petstore.example/internal/ctl/plan"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/ctl/usage"
	"petstore.example/internal/ctl/why"
)

// Run executes a command line and returns the exit code.
func Run(ctx context.Context, f *cmdutil.Factory, args []string) int {
	err := cmdutil.CheckText(args)
	if err == nil {
		root := newCmdRoot(f)
		root.SetArgs(args)
		var cmd *cobra.Command
		cmd, err = root.ExecuteContextC(ctx)
		err = f.ExplainRights(ctx, cmd, err)
	}
	return f.Report(ctx, err)
}

func newCmdRoot(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "petstorectl",
		Short: "Manage tenants, API keys, plans, bans and usage",
		Long: `Manage the tenants, API keys, plans, bans and usage of the animal store.

The database is the one given by --database-url, by PETSTORE_DATABASE_URL or by
.petstore/dev.json in this folder or a parent of it (see "petstore dev"), in
this order.`,
		Example: `  petstorectl tenant create acme --plan pro
  petstorectl key issue acme --name ci
  petstorectl usage show --month 2026-11`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          cmdutil.GroupRun,
		Args:          cobra.ArbitraryArgs,
	}
	// A group can run only to refuse unknown verbs. Its help need not say so.
	cmd.SetUsageTemplate(strings.Replace(cmd.UsageTemplate(),
		"{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", 1))
	cmd.SetIn(f.In)
	cmd.SetOut(f.Out)
	cmd.SetErr(f.ErrOut)
	cmd.SetFlagErrorFunc(cmdutil.FlagError)
	cmd.SetHelpCommand(newCmdHelp())
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(
		tenant.NewCmd(f), key.NewCmd(f), plan.NewCmd(f), ban.NewCmd(f), limits.NewCmd(f), usage.NewCmd(f), audit.NewCmd(f),
		why.NewCmd(f), doctor.NewCmd(f), migrate.NewCmd(f), newCmdCompletion(f), newCmdVersion(f),
	)
	return cmd
}

func newCmdHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [NOUN [VERB]]",
		Short:   "Show the help of a command",
		Example: "  petstorectl help key issue",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return cmdutil.UnknownCommand(found, args[len(args)-max(1, len(rest))])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
