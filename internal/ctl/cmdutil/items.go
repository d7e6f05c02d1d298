package cmdutil

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/envvars"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

// ItemsHelp says in the help of a command how to give several items.
const ItemsHelp = `Several items change together or not at all. --stdin reads one item a line (the
first column of a list); it skips blank lines and comments (#, unless a number
follows).`

// takeItems makes the command take its items from its arguments (followed by the arguments last),
// the lines of stdin, or the keys of a tenant.
func (b *Batch[T]) takeItems(cmd *cobra.Command, last []Arg) {
	cmd.Flags().BoolVar(&b.stdin, "stdin", false, "read each "+b.Item.Name+" from stdin, one a line")
	if b.AllOfUsage != "" {
		StringFlagFrom(cmd, &b.allOf, "all-of", b.AllOfUsage, TenantNames(b.Factory))
	}
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		n := len(given) - len(last)
		hint := "usage: " + cmd.UseLine()
		switch {
		case n < 0 && b.stdin || n < 1 && b.every() && len(given) < len(last):
			return UsageErrorf("missing argument: %s", last[len(given)].Name).WithHint(hint)
		case n < 1 && !b.every():
			return UsageErrorf("missing argument: %s", append([]Arg{b.Item}, last...)[len(given)].Name).WithHint(hint)
		case n > 0 && b.stdin:
			return UsageErrorf("--stdin can't be used with the argument %s: %q", b.Item.Name, given[0]).WithHint(hint)
		case n > 0 && b.allOf != "":
			return UsageErrorf("--all-of can't be used with the argument %s: %q", b.Item.Name, given[0]).WithHint(hint)
		case b.stdin && b.allOf != "":
			return UsageErrorf("--all-of can't be used with --stdin")
		}
		b.given = given[:n]
		for i, arg := range last {
			*arg.Value = given[n+i]
		}
		for _, item := range b.given {
			if err := b.Item.check(item); err != nil {
				return err
			}
		}
		return nil
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, prefix string) ([]string,
		cobra.ShellCompDirective) {
		if len(last) > 0 && (len(given) > 0 || b.stdin) {
			return complete(cmd, last[0].Complete, prefix)
		}
		return complete(cmd, b.Item.Complete, prefix)
	}
}

// every reports whether the items come from stdin or --all-of, not from arguments.
func (b *Batch[T]) every() bool { return b.stdin || b.allOf != "" }

// readLines returns the items on stdin. A key in place of its ID is refused and not repeated.
func (b *Batch[T]) readLines(in io.Reader) (list []string, err error) {
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		line, err := envvars.Read(lines.Text())
		if err != nil {
			return nil, UsageErrorf("line %d of stdin %v", n, err)
		}
		if errors.Is(keys.CheckText(line), keys.ErrTextContainsKey) {
			return nil, UsageErrorf("line %d of stdin contains an API key; want IDs", n).
				WithHint("find the ID with: petstorectl why -")
		}
		item, _, _ := strings.Cut(line, "\t")
		item = strings.TrimSpace(item)
		if item == "" || isComment(item) {
			continue
		}
		if err := b.Item.check(item); err != nil {
			return nil, err
		}
		if list = append(list, item); len(list) > store.MaxBatch {
			return nil, UsageErrorf(
				"stdin has more than %s lines, the most at once",
				output.Thousands(store.MaxBatch),
			).WithHint("split the list")
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

// isComment reports whether a line begins with # and is not a tenant's number, such as #2.
func isComment(line string) bool {
	digits, ok := strings.CutPrefix(line, "#")
	return ok && (digits == "" || strings.Trim(digits, "0123456789") != "")
}

// unique returns the items, each only once.
func unique(items []string) []string {
	var list []string
	for _, item := range items {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}
