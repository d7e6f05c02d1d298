package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Question is what a command asks before it changes anything.
type Question struct {
	// Facts are what matters, a line each.
	Facts []string
	// Text ends with a question mark; "" asks nothing.
	Text string
	// Word must be typed to confirm, "" for y.
	Word string
}

// Ask asks the question unless --yes or --dry-run was given. Any answer but the wanted one cancels. Ask only about what was tried, as a dry run
// or by a Batch: who may not make the change, or would be refused, is told so and not asked.
func Ask(ctx context.Context, f *Factory, q Question) error {
	if f.Yes || f.DryRun || q.Text == "" {
		return nil
	}
	if !f.InTTY {
		return UsageErrorf("%s asks for confirmation, but stdin is not a terminal", f.Command).WithHint("try it with --dry-run, then use --yes")
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
		// The next message begins on a line of its own.
		f.Messagef("")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if slices.Contains(want, strings.ToLower(strings.TrimSpace(answer))) {
		return nil
	}
	return &Error{Code: ExitRefused, Message: "canceled: nothing was changed"}
}

// Confirm asks a question that y or yes answers.
func (f *Factory) Confirm(ctx context.Context, question string) error {
	return Ask(ctx, f, Question{Text: question})
}

// Facts returns a line about each item, and of many only the first.
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

// WordFor returns what must be typed to confirm a change that harms these tenants, with their requests of today: the name of the only one
// that called, the number of those that did, or "" if none did.
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
