package cmdutil

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// NewGroup is a noun: a command that only has verbs. Use is its name, followed by a comma and its
// aliases.
func NewGroup(use, short string, verbs ...*cobra.Command) *cobra.Command {
	names := strings.Split(use, ",")
	cmd := &cobra.Command{
		Use: names[0], Aliases: names[1:], Short: withVerbs(short, verbs), Long: short + ".",
		Example: firstExamples(verbs),
		RunE:    GroupRun,
		// GroupRun refuses an unknown verb; cobra itself would exit 0.
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(verbs...)
	return cmd
}

// withVerbs is a group's short help with its first verbs, as many as fit a terminal.
func withVerbs(short string, verbs []*cobra.Command) string {
	const most, etc = 65, ", …"
	text := short + ": " + verbs[0].Name()
	for i, v := range verbs[1:] {
		longer := text + ", " + v.Name()
		if isLast := i == len(verbs)-2; len(longer) > most || !isLast && len(longer) > most-len(etc) {
			return text + etc
		}
		text = longer
	}
	return text
}

// firstExamples is the first example of each verb.
func firstExamples(verbs []*cobra.Command) string {
	examples := make([]string, len(verbs))
	for i, v := range verbs {
		examples[i], _, _ = strings.Cut(v.Example, "\n")
	}
	return strings.Join(examples, "\n")
}

// GroupRun shows the help of a group, and refuses an unknown verb.
func GroupRun(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return UnknownCommand(cmd, args)
}

// CheckCommand refuses a command line that names no command, whatever its flags are. Cobra looks at
// flags first, and shows the help of the group for --help.
func CheckCommand(root *cobra.Command, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil
	}
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasSubCommands() {
		return nil //nolint:nilerr // Cobra reports it when it runs the command.
	}
	if given := afterFlags(cmd, rest); len(given) > 0 {
		return UnknownCommand(cmd, given)
	}
	return nil
}

// afterFlags returns the arguments beginning with the first that is neither a flag nor a flag's
// value. It returns none if a command follows a flag, because then the flag is the mistake.
func afterFlags(group *cobra.Command, args []string) []string {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			return args[i+1:]
		case !strings.HasPrefix(arg, "-"):
			return args[i:]
		case arg == "-h" || arg == "--help" || strings.Contains(arg, "="):
		case i+1 < len(args) &&
			slices.ContainsFunc(group.Commands(), func(c *cobra.Command) bool { return isNamed(c, args[i+1]) }):
			return nil
		default:
			i++
		}
	}
	return nil
}

func isNamed(c *cobra.Command, name string) bool { return c.Name() == name || c.HasAlias(name) }

// verbFirst is the error of arguments that name a verb before its noun; nil for others.
func verbFirst(root *cobra.Command, args []string) *Error {
	err := UsageErrorf("unknown command %q for %q: the noun comes before the verb", args[0], root.Name())
	var nouns []string
	for _, noun := range root.Commands() {
		if !slices.ContainsFunc(noun.Commands(), func(verb *cobra.Command) bool { return isNamed(verb, args[0]) }) {
			continue
		}
		if len(args) > 1 && isNamed(noun, args[1]) {
			return err.WithHint(strings.Join([]string{root.Name(), args[1], args[0]}, " "))
		}
		nouns = append(nouns, noun.Name())
	}
	switch len(nouns) {
	case 0:
		return nil
	case 1:
		return err.WithHint(strings.Join([]string{root.Name(), nouns[0], args[0]}, " "))
	}
	return err.WithHint(
		fmt.Sprintf("%s NOUN %s, where NOUN is one of %s", root.Name(), args[0], strings.Join(nouns, ", ")),
	)
}

// UnknownCommand is the error of a command that does not exist. given is what was typed after the
// group.
func UnknownCommand(group *cobra.Command, given []string) error {
	found := suggestions(group, given[0])
	isSynonym := func(s Synonym) bool { return s.has(strings.ToLower(given[0])) }
	if !group.HasParent() && !slices.ContainsFunc(Synonyms, isSynonym) {
		if err := verbFirst(group, given); err != nil {
			return err
		}
	}
	e := UsageErrorf(
		"unknown command %q for %q",
		given[0],
		group.CommandPath(),
	).WithHint("see: " + group.CommandPath() + " --help")
	if len(found) > 0 {
		e.Message += fmt.Sprintf("; did you mean %s?", anyOf(found))
	}
	if form := otherForms[groupPath(group)+" "+strings.ToLower(given[0])]; form != "" {
		e.Hint = form
	} else if len(found) > 0 {
		return e
	} else if list, _, err := group.Find([]string{"list"}); err == nil && list.Flags().Lookup("tenant") != nil &&
		len(given) == 1 && isOfTenant(given[0]) {
		e.Hint = fmt.Sprintf("to list what is of a tenant: %s --tenant %s\n%s", list.CommandPath(), given[0], e.Hint)
	} else if show, _, err := group.Find([]string{"show"}); err == nil && show != group && isShown(show, given[0]) {
		e.Hint = fmt.Sprintf("to show one: %s %s\n%s", show.CommandPath(), given[0], e.Hint)
	}
	return e
}

// otherForms say what to use in place of words that are not commands.
var otherForms = map[string]string{
	"key identify":  "petstorectl why - < FILE",
	"audit export":  "petstorectl audit list --oldest-first -o jsonl",
	"tenant rename": "petstorectl tenant edit TENANT --name NAME",
	"key rename":    "petstorectl key edit KEY-ID --name NAME",
}

// isOfTenant tells whether a word may be the name of a tenant, and not the ID of a key.
func isOfTenant(word string) bool {
	return plainWord.MatchString(word) && !strings.HasPrefix(word, "key_")
}

// plainWord is a word that needs no quotes.
var plainWord = regexp.MustCompile(`^[\w.-]+$`)

// isShown tells whether a word may be the argument of the command show.
func isShown(show *cobra.Command, word string) bool {
	isKey := strings.HasPrefix(word, "key_")
	return plainWord.MatchString(word) &&
		(strings.Contains(show.Use, "TENANT") || strings.Contains(show.Use, "PLAN") ||
			strings.Contains(show.Use, "KEY-ID") && isKey)
}

// anyOf joins names as in "a", "b" or "c".
func anyOf(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	if last := len(quoted) - 1; last > 0 {
		return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
	}
	return quoted[0]
}
