package main

import (
	"context"
	"errors"
	"io"
	"strings"
)

// needsYes refuses a destructive verb at once where nobody could be asked.
func (f *factory) needsYes(verb string) error {
	if f.yes || f.dryRun || f.streams.inTTY {
		return nil
	}
	return usageProblem("%s asks for confirmation, but stdin is not a terminal", verb).withHint("use --yes to skip the confirmation")
}

// confirm asks the question unless --yes or --dry-run was given. Any answer but yes refuses.
func (f *factory) confirm(ctx context.Context, question string) error {
	if f.yes || f.dryRun {
		return nil
	}
	if _, err := io.WriteString(f.streams.err, question+" [y/N] "); err != nil {
		return err
	}
	answer, err := f.streams.readLine(ctx)
	if err != nil {
		// What is said next begins on a line of its own.
		f.streams.say("")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &problem{code: exitRefused, message: "canceled: nothing was changed"}
}
