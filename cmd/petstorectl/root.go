package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func newCmdRoot(f *factory) *cobra.Command {
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
		RunE:          groupRun,
		Args:          cobra.ArbitraryArgs,
	}
	// A group runs only to refuse unknown verbs; its help need not say so.
	cmd.SetUsageTemplate(strings.Replace(cmd.UsageTemplate(),
		"{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", 1))
	cmd.SetIn(f.streams.in)
	cmd.SetOut(f.streams.out)
	cmd.SetErr(f.streams.err)
	cmd.SetFlagErrorFunc(flagProblem)
	cmd.SetHelpCommand(newCmdHelp())
	cmd.CompletionOptions.DisableDefaultCmd = true
	addGlobalFlags(cmd, f)
	cmd.AddCommand(
		newCmdTenant(f), newCmdKey(f), newCmdPlan(f), newCmdBan(f), newCmdUsage(f), newCmdAudit(f), newCmdWhy(f, nil),
		newCmdDoctor(f, nil),
		newCmdMigrate(f), newCmdCompletion(f, nil), newCmdVersion(f, nil),
	)
	return cmd
}

func addGlobalFlags(cmd *cobra.Command, f *factory) {
	flags := cmd.PersistentFlags()
	flags.VarP(newChoice(&f.output, "table", "json", "csv"), "output", "o", "output `FORMAT`: table, json or csv")
	flags.BoolVar(&f.yes, "yes", false, "skip the confirmation")
	flags.BoolVar(&f.dryRun, "dry-run", false, "check and show the change without keeping it")
	flags.StringVar(&f.reason, "reason", "", "why the change is made: `TEXT` for the audit trail")
	flags.StringVar(&f.databaseURL, "database-url", "", "`URL` of the Postgres database")
	completeFlag(cmd, "output", "table", "json", "csv")
	for _, name := range []string{"yes", "dry-run", "reason", "database-url"} {
		completeFlag(cmd, name)
	}
}

// newGroup is a noun: a command that only holds verbs.
func newGroup(use, short string, verbs ...*cobra.Command) *cobra.Command {
	noun, aliases, _ := strings.Cut(use, ",")
	cmd := &cobra.Command{
		Use:     noun,
		Short:   short,
		Example: verbs[0].Example,
		RunE:    groupRun,
		// Cobra takes any argument of a nested group for its own and exits 0.
		Args: cobra.ArbitraryArgs,
	}
	if aliases != "" {
		cmd.Aliases = strings.Split(aliases, ",")
	}
	cmd.AddCommand(verbs...)
	return cmd
}

// groupRun shows the help of a group that is named alone, and refuses a verb that it does not have.
func groupRun(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	if !cmd.HasParent() {
		if p := verbFirst(cmd, args); p != nil {
			return p
		}
	}
	return unknownCommand(cmd, args[0])
}

// verbFirst is the problem of arguments that name a verb where its noun should be; nil when they do not.
func verbFirst(root *cobra.Command, args []string) *problem {
	isNamed := func(c *cobra.Command, name string) bool { return c.Name() == name || c.HasAlias(name) }
	p := usageProblem("unknown command %q for %q: the noun comes before the verb", args[0], root.Name())
	var nouns []string
	for _, noun := range root.Commands() {
		if !slices.ContainsFunc(noun.Commands(), func(verb *cobra.Command) bool { return isNamed(verb, args[0]) }) {
			continue
		}
		if len(args) > 1 && isNamed(noun, args[1]) {
			return p.withHint(strings.Join([]string{root.Name(), args[1], args[0]}, " "))
		}
		nouns = append(nouns, noun.Name())
	}
	if len(nouns) == 0 {
		return nil
	}
	return p.withHint(fmt.Sprintf("%s NOUN %s, where NOUN is one of %s", root.Name(), args[0], strings.Join(nouns, ", ")))
}

func unknownCommand(cmd *cobra.Command, name string) error {
	p := usageProblem("unknown command %q for %q", name, cmd.CommandPath())
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
			known = append(known, c.Aliases...)
		}
	}
	p.message += didYouMean(name, known)
	p.hint = fmt.Sprintf("see: %s --help", cmd.CommandPath())
	return p
}

func newCmdHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [NOUN [VERB]]",
		Short:   "Show the help of a command",
		Example: "  petstorectl help key issue",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(found, args[len(args)-max(1, len(rest))])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// missingFlags is the error of a command that was called without flags that it requires.
func missingFlags(cmd *cobra.Command, names string) *problem {
	return usageProblem("missing required flag: %s", names).withHint("usage: " + cmd.UseLine())
}

// exactArgs wants as many arguments as names, and names the missing one.
func exactArgs(names ...string) cobra.PositionalArgs { return rangeArgs(len(names), names...) }

// rangeArgs wants at least so many arguments, and at most as many as names.
func rangeArgs(least int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		var p *problem
		switch {
		case len(args) < least:
			p = usageProblem("missing argument: %s", names[len(args)])
		case len(args) > len(names):
			p = usageProblem("unexpected argument: %q", args[len(names)])
		default:
			return nil
		}
		p.hint = "usage: " + cmd.UseLine()
		return p
	}
}
