package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

// Change is a command that changes one item. If it has a question, it first tries the change and
// asks for confirmation. Then it makes the change and reports it.
type Change[T any] struct {
	*Factory

	// Subject is what the command is about; its arguments set it.
	Subject Subject
	// Requires are flags that must be given. Check refuses other mistakes in a command line; it may
	// be nil.
	Requires []string
	Check    func(*cobra.Command) error
	// Question returns what to ask about the tried change; nil for a command that never asks.
	Question func(ctx context.Context, db *store.DB, tried T) (Question, error)
	Do       func(context.Context, *store.DB, audit.By) (T, error)
	// Explain returns the Error for an error of Question or Do. If it is nil, Factory.Explain does.
	Explain func(context.Context, error) error
	// Notice is the sentence about what was done, in the past tense.
	Notice func(T) string
	// Unchanged tells whether the change was already in force, which Notice then says; nil for
	// never.
	Unchanged func(T) bool
	View      output.View[T]
	// Secret names what only stdout shows, such as "the key"; "" for nothing. Again says how to get
	// another secret if the change can't be undone.
	Secret string
	Again  func(T) string
	// Print prints more than View. If it is nil, View is printed, but only for programs.
	Print func(context.Context, *store.DB, T) error
}

// Command makes the command with its texts.
func (c *Change[T]) Command(cmd *cobra.Command, args ...Arg) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := RequireFlags(cmd, c.Requires...); err != nil {
			return err
		}
		if c.Check != nil {
			if err := c.Check(cmd); err != nil {
				return err
			}
		}
		return c.Run(cmd.Context(), c.Factory)
	}
	c.ChangeCommand(cmd, args...)
	if c.Question != nil {
		c.YesFlag(cmd)
	}
	return SetColumns(cmd, c.View.Names())
}

// Run makes the change.
func (c Change[T]) Run(ctx context.Context, f *Factory) error {
	explain := c.Explain
	if explain == nil {
		explain = func(ctx context.Context, err error) error { return f.Explain(ctx, err, c.Subject) }
	}
	if c.Secret != "" {
		if err := f.CheckOut(c.Secret); err != nil {
			return err
		}
	}
	by, db, err := f.BeginChange(ctx)
	if err != nil {
		return err
	}
	if err := c.ask(ctx, f, db, by); err != nil {
		return explain(ctx, err)
	}
	done, err := c.Do(ctx, db, by)
	if err != nil {
		return explain(ctx, err)
	}
	if c.Unchanged != nil && c.Unchanged(done) {
		f.Messagef("%s: nothing was changed", c.Notice(done))
	} else {
		f.Changedf("%s", c.Notice(done))
	}
	if c.Print == nil {
		return PrintChanged(f, c.View, done)
	}
	if err = c.Print(ctx, db, done); c.Secret != "" && f.IsOutError(err) {
		return c.lost(f, done, err)
	}
	return err
}

// lost is the error of a secret that could not be written. It says what was done, and how to take
// that back or to get another secret.
func (c Change[T]) lost(f *Factory, done T, err error) error {
	e := &Error{
		Code:    ExitFailed,
		Message: fmt.Sprintf("%s, but could not write %s, which is not shown again", c.Notice(done), c.Secret),
		Cause:   err,
	}
	if len(f.undoable) > 0 {
		return e.WithHint("take it back: petstorectl undo " + f.undoNumbers())
	}
	return e.WithHint(c.Again(done))
}

func (c Change[T]) ask(ctx context.Context, f *Factory, db *store.DB, by audit.By) error {
	if c.Question == nil || f.Yes || f.DryRun {
		return nil
	}
	by.DryRun = true
	tried, err := c.Do(ctx, db, by)
	if err != nil {
		return err
	}
	q, err := c.Question(ctx, db, tried)
	if err != nil {
		return err
	}
	return Ask(ctx, f, q)
}

// Question is what a command asks before it changes anything.
type Question struct {
	// Facts are what the person should know, a line each.
	Facts []string
	// Text ends with a question mark; "" asks nothing.
	Text string
	// Word must be typed to confirm, "" for y.
	Word string
}

// Ask asks the question unless --yes or --dry-run was given. Any answer but the wanted one cancels.
// Call Ask only after the change was tried, as a dry run or by a Batch. So a person whose change
// would be refused gets the refusal, not the question.
func Ask(ctx context.Context, f *Factory, q Question) error {
	if f.Yes || f.DryRun || q.Text == "" {
		return nil
	}
	if !f.InTTY {
		return UsageErrorf(
			"%s asks for confirmation, but stdin is not a terminal",
			f.Command,
		).WithHint("try it with --dry-run, then use --yes")
	}
	for _, fact := range q.Facts {
		f.Messagef("%s", fact)
	}
	text := inProduction(f, q.Text)
	prompt, want := text+" [y/N] ", []string{"y", "yes"}
	if q.Word != "" {
		prompt, want = text+"\nType "+q.Word+" to confirm: ", []string{q.Word}
	}
	if _, err := io.WriteString(f.ErrOut, prompt); err != nil {
		return err
	}
	answer, err := f.ReadLine(ctx)
	if err != nil {
		// The next message then begins on a line of its own.
		f.Messagef("")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if slices.Contains(want, strings.ToLower(strings.TrimSpace(answer))) {
		return nil
	}
	return RefusedErrorf("canceled: nothing was changed")
}

// Confirm asks a question that y or yes answers.
func (f *Factory) Confirm(ctx context.Context, question string) error {
	return Ask(ctx, f, Question{Text: question})
}

// Facts returns a line about each item; if there are many, only about the first ones.
func Facts[T any](items []T, fact func(T) string) (lines []string) {
	for i, item := range items {
		if i == maxNotices {
			return append(lines, fmt.Sprintf("and %d more", len(items)-i))
		}
		lines = append(lines, fact(item))
	}
	return lines
}

// firstOf names the first of many items.
func firstOf(items []string) string {
	const named = 5
	if len(items) <= named {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:named], ", "), len(items)-named)
}

// WordFor returns what must be typed to confirm a change that harms these tenants. requests has
// their requests of today. The word is the tenant's name if only one called, the number of tenants
// if several did, and "" if none did.
func WordFor(requests map[string]int64) string {
	for name := range requests {
		if len(requests) == 1 {
			return name
		}
	}
	if len(requests) > 1 {
		return strconv.Itoa(len(requests))
	}
	return ""
}
