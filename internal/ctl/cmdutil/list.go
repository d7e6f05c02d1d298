package cmdutil

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

// DefaultLimit is the number of rows of a table without --limit.
const DefaultLimit = 100

const (
	// MaxLimit is the most that --limit may be.
	MaxLimit = 10_000
	// MaxSearch is the most characters of a text to search for.
	MaxSearch = 200
)

// List is a command that lists items. It prints them as they arrive, and says if there are more, or
// none.
type List[T any] struct {
	*Factory

	cmd   *cobra.Command
	limit int
	// Subject is what the command is about; its flags set it.
	Subject Subject
	// All is set for a short list, which has no --limit. TableRows is the number of rows of a table
	// without --limit, 0 for DefaultLimit.
	All       bool
	TableRows int
	// Check refuses mistakes in a command line; it may be nil.
	Check func() error
	// Rows returns at most limit items, 0 for all.
	Rows func(ctx context.Context, db *store.DB, limit int) (iter.Seq2[T, error], error)
	// View returns the view. Table returns the view of a table; if it is nil, a table has View too.
	// Both are called after Rows.
	View, Table func() output.View[T]
	// After returns the value of --after that continues after an item; nil without that flag.
	After func(T) string
	// Empty is the message if there is no item. NoMatch replaces it if one of the flags Filters, or
	// --after, was given.
	Empty, NoMatch string
	Filters        []string
	// Explain returns the Error for an error of Rows. If it is nil, Factory.Explain does.
	Explain func(context.Context, error) error
}

// Command makes the command with its texts.
func (l *List[T]) Command(cmd *cobra.Command, args ...Arg) *cobra.Command {
	if cmd.Name() == "list" {
		cmd.Aliases = []string{"ls"}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) }
	l.ReadCommand(cmd, args...)
	l.cmd = cmd
	if !l.All {
		l.limit = cmp.Or(l.TableRows, DefaultLimit)
		limitFlag(cmd, &l.limit)
	}
	return SetColumns(cmd, l.View().Names())
}

func (l *List[T]) run(ctx context.Context) error {
	explain := l.Explain
	if explain == nil {
		explain = func(ctx context.Context, err error) error { return l.Factory.Explain(ctx, err, l.Subject) }
	}
	if l.Check != nil {
		if err := l.Check(); err != nil {
			return err
		}
	}
	db, err := l.DB(ctx)
	if err != nil {
		return err
	}
	limit := 0
	if n := l.printed(); n > 0 {
		limit = n + 1 // One row more than is printed shows that there are more.
	}
	rows, err := l.Rows(ctx, db, limit)
	if err != nil {
		return explain(ctx, err)
	}
	empty := l.Empty
	if slices.ContainsFunc(append(l.Filters, "after"), l.cmd.Flags().Changed) {
		empty = l.NoMatch
	}
	return explain(ctx, l.print(rows, empty))
}

// printed is the number of rows to print, 0 for all: --limit, or the default of a table.
func (l *List[T]) printed() int {
	if l.cmd.Flags().Changed("limit") || l.Printer().Format == "table" {
		return l.limit
	}
	return 0
}

// print prints a list as it arrives, in memory that does not grow with it, and says if there is
// more, or nothing.
func (l *List[T]) print(list iter.Seq2[T, error], empty string) error {
	view := l.View
	if l.Table != nil && l.Printer().Format == "table" {
		view = l.Table
	}
	out, err := output.NewStream(l.Printer(), view())
	if err != nil {
		return err
	}
	var last T
	n, most := 0, l.printed()
	for item, err := range list {
		if err != nil {
			return err
		}
		if most > 0 && n == most {
			l.last = l.more(last)
			break
		}
		if err := out.Add(item); err != nil {
			return err
		}
		last = item
		n++
	}
	if n == 0 && empty != "" {
		l.Messagef("%s", empty)
	}
	return out.Close()
}

// more says how to read the rows after the last printed one.
func (l *List[T]) more(last T) string {
	if l.After != nil {
		return fmt.Sprintf("more: %s --after %s", commandLine(l.cmd, "after"), quote(l.After(last)))
	}
	return fmt.Sprintf("there are more rows; for all of them: %s -o csv", commandLine(l.cmd, "limit", "output"))
}

// limitFlag adds --limit; rows is the number of rows of a table.
func limitFlag(cmd *cobra.Command, rows *int) {
	usage := fmt.Sprintf("print at most `N` rows (default: a table has %d)", *rows)
	ParsedFlag(cmd, rows, "limit", "L", usage, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err == nil && (n < 1 || n > MaxLimit) {
			err = fmt.Errorf("must be from 1 to %d, not %d", MaxLimit, n)
		}
		return n, err
	})
}

// Show is a command that shows one item.
type Show[T any] struct {
	*Factory

	// Subject is what the command is about; its arguments set it.
	Subject Subject
	Get     func(context.Context, *store.DB) (T, error)
	View    func(now time.Time) output.View[T]
	// Print prints more than View; nil for View.
	Print func(T) error
}

// Command makes the command with its texts.
func (s *Show[T]) Command(cmd *cobra.Command, args ...Arg) *cobra.Command {
	if cmd.Name() == "show" {
		cmd.Aliases = []string{"get", "view"}
	}
	cmd.RunE = s.Read(func(ctx context.Context, db *store.DB) error {
		item, err := s.Get(ctx, db)
		if err != nil {
			return s.Explain(ctx, err, s.Subject)
		}
		if s.Print != nil {
			return s.Print(item)
		}
		return output.Item(s.Printer(), s.View(s.Now()), item)
	})
	return SetColumns(s.ReadCommand(cmd, args...), s.View(s.Now()).Names())
}

// Read returns the run function of a command that reads the database.
func (f *Factory) Read(read func(context.Context, *store.DB) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		db, err := f.DB(cmd.Context())
		if err != nil {
			return err
		}
		return read(cmd.Context(), db)
	}
}

// AfterFlag adds --after. item names a row, such as "the tenant `NAME`".
func AfterFlag(cmd *cobra.Command, value *string, item string) {
	StringFlag(cmd, value, "after", "begin after "+item)
}

// TenantFlag adds --tenant to a command that covers all tenants without it.
func TenantFlag(cmd *cobra.Command, f *Factory, name *string) {
	StringFlagFrom(cmd, name, "tenant", "only what is of this `TENANT`", TenantNames(f))
}

// Items is a list in memory.
func Items[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// commandLine is the command as it was typed, without some flags. In place of a database URL, which
// may contain a password, it has the word URL.
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

// quote quotes the word so that a shell reads it unchanged.
func quote(word string) string {
	if word != "" &&
		strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(output.Clean(word), "'", `'\''`) + "'"
}
