package ctl

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"petstore.example/internal/ctl/cmdutil"
)

// helpGroups are the groups of commands in the root's help, in order.
var helpGroups = []struct {
	id, title string
	commands  []string
}{
	{"why", "Answer a ticket:", []string{"why", "tail", "undo"}},
	{"manage", "Manage:", []string{"tenant", "key", "plan", "ban", "limits", "webhook"}},
	{"report", "Report:", []string{"usage", "audit"}},
	{"login", "Log in:", []string{"login", "logout", "whoami", "staff"}},
	{"operate", "Operate:", []string{"doctor", "retention", "migrate"}},
	{"more", "More:", []string{"completion", "help", "version"}},
}

// groupCommands puts every command of the root into its group.
func groupCommands(root *cobra.Command) {
	for _, g := range helpGroups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range root.Commands() {
			if slices.Contains(g.commands, c.Name()) {
				c.GroupID = g.id
			}
		}
	}
	root.SetHelpCommandGroupID("more")
}

// sharedFlags are shown after a command's own flags, because they are the same everywhere.
var sharedFlags = []string{"columns", "database-url", "help", "jq", "local", "output", "profile", "utc"}

func isShared(f *pflag.Flag) bool { return slices.Contains(sharedFlags, f.Name) }

func flagsWhere(flags *pflag.FlagSet, keep func(*pflag.Flag) bool) string {
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if keep(f) {
			some.AddFlag(f)
		}
	})
	return some.FlagUsages()
}

// usageTemplate is Cobra's with changes: a group shows no line of its own, the shared flags follow
// the others, and examples come last, as in gh, because a terminal shows the end of a long text.
const usageTemplate = `Usage:
  {{if not .HasAvailableSubCommands}}{{.UseLine}}{{else if .HasParent}}{{.CommandPath}} VERB [flags]{{else}}` +
	`{{.CommandPath}} COMMAND [flags]{{end}}
{{- if gt (len .Aliases) 0}}

Aliases:
  {{.NameAndAliases}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}

Verbs:{{range $cmds}}{{if .IsAvailableCommand}}
  {{rpad .Name (padding .)}} {{.Short}}{{end}}{{end}}{{else}}` +
	`{{range $group := .Groups}}{{if hasCommands $cmds $group.ID}}

{{.Title}}{{range $cmds}}{{if and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name (padding .)}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{end}}{{end}}{{if .HasHelpSubCommands}}

Topics, shown by {{.CommandPath}} help TOPIC:{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  {{rpad .Name (padding .)}} {{.Short}}{{end}}{{end}}{{end}}
{{- with ownFlags .LocalFlags}}

Flags:
{{trimTrailingWhitespaces .}}{{end}}
{{- with and (not .HasAvailableSubCommands) (sharedFlags .LocalFlags)}}

Shared flags:
{{trimTrailingWhitespaces .}}{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Use "{{.CommandPath}} {{if .HasParent}}VERB{{else}}COMMAND{{end}} --help" ` +
	`for the flags and examples of a command.{{end}}
`

// Cobra's template functions are global.
var addTemplateFuncs = sync.OnceFunc(func() {
	cobra.AddTemplateFunc("ownFlags", func(f *pflag.FlagSet) string {
		return flagsWhere(f, func(f *pflag.Flag) bool { return !isShared(f) })
	})
	cobra.AddTemplateFunc("sharedFlags", func(f *pflag.FlagSet) string { return flagsWhere(f, isShared) })
	// Two spaces follow the longest name of the commands and topics. Cobra's padding does not know
	// topics.
	cobra.AddTemplateFunc("padding", func(c *cobra.Command) int {
		padding := c.NamePadding()
		for _, other := range c.Parent().Commands() {
			if other.IsAvailableCommand() || other.IsAdditionalHelpTopicCommand() {
				padding = max(padding, len(other.Name())+1)
			}
		}
		return padding
	})
	cobra.AddTemplateFunc("hasCommands", func(commands []*cobra.Command, group string) bool {
		return slices.ContainsFunc(
			commands,
			func(c *cobra.Command) bool { return c.GroupID == group && c.IsAvailableCommand() },
		)
	})
})

// setHelp sets the form of all commands' help.
func setHelp(f *cmdutil.Factory, root *cobra.Command) {
	addTemplateFuncs()
	root.SetUsageTemplate(usageTemplate)
	root.SetHelpCommand(newCmdHelp())
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		// Help that can't be printed has no reader.
		_ = cmdutil.Page(cmp.Or(cmd.Root().Context(), context.Background()), f, func() error {
			if f.OutTTY {
				cmd.SetOut(f.Out)
			}
			help(cmd, args)
			return nil
		})
	})
	groupCommands(root)
	root.AddCommand(newTopics()...)
}

func newCmdHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Show the help of a command or a topic",
		Example: `  petstorectl help key issue
  petstorectl help exit-codes`,
		ValidArgsFunction: completeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return cmdutil.UnknownCommand(cmp.Or(found, cmd.Root()), args[len(args)-max(1, len(rest)):])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// completeHelp completes commands and topics.
func completeHelp(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var completions []string
	for _, c := range found.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			completions = append(completions, c.Name()+"\t"+c.Short)
		}
	}
	return completions, cobra.ShellCompDirectiveNoFileComp
}
