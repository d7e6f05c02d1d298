package cmdutil

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"petstore.example/internal/ctl/output"
)

// DefaultLimit is how many rows a table has without --limit.
const DefaultLimit = 100

const (
	// MaxLimit is the most that --limit may be.
	MaxLimit = 10_000
	// MaxSearch is how many characters a text has that is searched for.
	MaxSearch = 200
)

// ListFlags are the flags that cut a list: --limit, and --after for one that can go on where a table ended.
type ListFlags struct {
	// After is the value of --after.
	After string

	cmd   *cobra.Command
	limit int
}

// Add adds --limit, with the number of rows of a table.
func (l *ListFlags) Add(cmd *cobra.Command, rows int) {
	l.cmd = cmd
	l.limit = rows
	limitFlag(cmd, &l.limit, fmt.Sprintf("print at most `N` rows (default: a table has %d)", rows))
}

// AddAfter adds --after. The item is what names a row, such as "the tenant `NAME`".
func (l *ListFlags) AddAfter(cmd *cobra.Command, item string) {
	cmd.Flags().StringVar(&l.After, "after", "", "begin after "+item)
	CompleteFlag(cmd, "after")
}

// AddAfterNumber adds --after for a list whose rows have numbers.
func (l *ListFlags) AddAfterNumber(cmd *cobra.Command, number *int64, item string) {
	ParsedFlag(cmd, number, "after", "", "begin after "+item, func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("%q is not a number", text)
		}
		return n, nil
	})
}

// Filtered reports whether one of these flags was given, or --after.
func (l *ListFlags) Filtered(names ...string) bool {
	return slices.ContainsFunc(append(names, "after"), l.cmd.Flags().Changed)
}

// TenantFlag adds --tenant to a command that is about all tenants without it.
func TenantFlag(cmd *cobra.Command, f *Factory, name *string) {
	cmd.Flags().StringVar(name, "tenant", "", "only what is of this `TENANT`")
	CompleteFlagFrom(cmd, "tenant", TenantNames(f))
}

// Items is a list that is in memory.
func Items[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func limitFlag(cmd *cobra.Command, limit *int, usage string) {
	ParsedFlag(cmd, limit, "limit", "L", usage, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err == nil && (n < 1 || n > MaxLimit) {
			err = fmt.Errorf("must be from 1 to %d, not %d", MaxLimit, n)
		}
		return n, err
	})
}

// Rows is how many rows are printed, 0 for all: --limit, or the default of a table.
func (l *ListFlags) Rows(f *Factory) int {
	if l.cmd.Flags().Changed("limit") || f.Printer().Format == "table" {
		return l.limit
	}
	return 0
}

// Query is the limit of the query, 0 for none: one row more than are printed shows that there are more.
func (l *ListFlags) Query(f *Factory) int {
	if n := l.Rows(f); n > 0 {
		return n + 1
	}
	return 0
}

// PrintStream prints a list as it arrives, in memory that does not grow with it, and says if there is more, or nothing. The cursor of an
// item is the value of --after that goes on after it; nil for a list without --after.
func PrintStream[T any](f *Factory, v output.View[T], list iter.Seq2[T, error], l *ListFlags, cursor func(T) string, empty string) error {
	out, err := output.NewStream(f.Printer(), v)
	if err != nil {
		return err
	}
	var last T
	printed, rows := 0, l.Rows(f)
	for item, err := range list {
		if err != nil {
			return err
		}
		if rows > 0 && printed == rows {
			after := ""
			if cursor != nil {
				after = cursor(last)
			}
			defer l.sayMore(f, after)
			break
		}
		if err := out.Add(item); err != nil {
			return err
		}
		last = item
		printed++
	}
	if printed == 0 {
		f.Messagef("%s", empty)
	}
	return out.Close()
}

// sayMore says on stderr how to read the rows that were left out.
func (l *ListFlags) sayMore(f *Factory, after string) {
	if after != "" {
		f.Messagef("more: %s --after %s", commandLine(l.cmd, "after"), quote(after))
		return
	}
	all := commandLine(l.cmd, "limit", "output")
	f.Messagef("there are more rows; for all of them: %s -o csv", all)
}

// commandLine is the command as it was typed, without some flags. A database URL may contain a password: its name stands for it.
func commandLine(cmd *cobra.Command, without ...string) string {
	parts := []string{cmd.CommandPath()}
	for _, arg := range cmd.Flags().Args() {
		parts = append(parts, quote(arg))
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch {
		case slices.Contains(without, flag.Name):
		case flag.Name == "database-url":
			parts = append(parts, "--database-url URL")
		case strings.HasPrefix(flag.Value.Type(), "bool"): // boolfunc too
			parts = append(parts, "--"+flag.Name)
		case flag.NoOptDefVal != "":
			parts = append(parts, "--"+flag.Name+"="+quote(flag.Value.String()))
		default:
			parts = append(parts, "--"+flag.Name, quote(flag.Value.String()))
		}
	})
	return strings.Join(parts, " ")
}

// quote returns the word so that a shell reads it as it is.
func quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(output.Clean(word), "'", `'\''`) + "'"
}
