package cmdutil

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

// ItemArgs are what a command changes: its arguments, the lines of stdin, or the keys of a tenant.
type ItemArgs struct {
	given []string
	stdin bool
	allOf string
	check func(string) error
}

// ItemsHelp says in the help of a command how to give several items.
const ItemsHelp = `Several items change together or not at all. --stdin reads one item a line (the
first column of a list); it skips blank lines and comments (#, unless a number
follows).`

// ItemsCommand is ChangeCommand for a command that changes several items. The item is repeated, and these arguments follow it.
func ItemsCommand(f *Factory, cmd *cobra.Command, items *ItemArgs, item Arg, last ...Arg) *cobra.Command {
	f.ChangeCommand(cmd)
	f.YesFlag(cmd)
	items.check = item.Check
	cmd.Flags().BoolVar(&items.stdin, "stdin", false, "read each "+item.Name+" from stdin, one a line")
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		n := len(given) - len(last)
		hint := "usage: " + cmd.UseLine()
		switch {
		case n < 0 && items.stdin || n < 1 && items.every() && len(given) < len(last):
			return UsageErrorf("missing argument: %s", last[len(given)].Name).WithHint(hint)
		case n < 1 && !items.every():
			return UsageErrorf("missing argument: %s", append([]Arg{item}, last...)[len(given)].Name).WithHint(hint)
		case n > 0 && items.stdin:
			return UsageErrorf("--stdin can't be used with the argument %s: %q", item.Name, given[0]).WithHint(hint)
		case n > 0 && items.allOf != "":
			return UsageErrorf("--all-of can't be used with the argument %s: %q", item.Name, given[0]).WithHint(hint)
		case items.stdin && items.allOf != "":
			return UsageErrorf("--all-of can't be used with --stdin")
		}
		items.given = given[:n]
		for i, arg := range last {
			*arg.Value = given[n+i]
		}
		return checkAll(items.given, item.Check)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(last) > 0 && (len(given) > 0 || items.stdin) {
			return complete(cmd, last[0].Complete, prefix)
		}
		return complete(cmd, item.Complete, prefix)
	}
	return cmd
}

// AllOfFlag adds --all-of for a command whose items are keys.
func (i *ItemArgs) AllOfFlag(cmd *cobra.Command, f *Factory, usage string) {
	StringFlagFrom(cmd, &i.allOf, "all-of", usage, TenantNames(f))
}

// every reports whether the items are not arguments.
func (i *ItemArgs) every() bool { return i.stdin || i.allOf != "" }

// one reports whether the command is about exactly one item, which is an argument.
func (i *ItemArgs) one() bool { return len(i.given) == 1 && !i.every() }

func checkAll(items []string, check func(string) error) error {
	for _, item := range items {
		if check == nil {
			break
		}
		if err := check(item); err != nil {
			return err
		}
	}
	return nil
}

// read returns the arguments, or the lines of stdin. A key in place of its ID is refused and not repeated.
func (i *ItemArgs) read(ctx context.Context, f *Factory) ([]string, error) {
	if !i.stdin {
		return i.given, nil
	}
	return await(ctx, func() ([]string, error) { return i.readLines(f.In) })
}

func (i *ItemArgs) readLines(in io.Reader) (list []string, err error) {
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		if errors.Is(keys.CheckText(lines.Text()), keys.ErrTextContainsKey) {
			return nil, UsageErrorf("line %d of stdin contains an API key; want IDs", n).
				WithHint("find the ID with: petstorectl why -")
		}
		item, _, _ := strings.Cut(lines.Text(), "\t")
		item = strings.TrimSpace(item)
		if item == "" || isComment(item) {
			continue
		}
		if i.check != nil {
			if err := i.check(item); err != nil {
				return nil, err
			}
		}
		if list = append(list, item); len(list) > store.MaxBatch {
			return nil, UsageErrorf("stdin has more than %s lines, the most at once", output.Thousands(store.MaxBatch)).WithHint("split the list")
		}
	}
	if err := lines.Err(); err != nil {
		return nil, UsageErrorf("can't read stdin: %v", err)
	}
	if len(list) == 0 {
		return nil, UsageErrorf("stdin has no items")
	}
	return list, nil
}

// isComment reports whether a line begins with # and is no tenant's number, such as #2.
func isComment(line string) bool {
	digits, ok := strings.CutPrefix(line, "#")
	return ok && (digits == "" || strings.Trim(digits, "0123456789") != "")
}

// unique returns the items without those that came before.
func unique(items []string) []string {
	var list []string
	for _, item := range items {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}
