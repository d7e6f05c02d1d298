package cmdutil

import (
	"context"
	"errors"
	"io"
	"strings"
)

// NeedsYes is the error of a command that asks for confirmation where nobody can be asked; nil where somebody can.
func (f *Factory) NeedsYes(command string) error {
	if f.Yes || f.DryRun || f.InTTY {
		return nil
	}
	return UsageErrorf("%s asks for confirmation, but stdin is not a terminal", command).WithHint("use --yes to skip the confirmation")
}

// Confirm asks the question unless --yes or --dry-run was given. Any answer but yes cancels.
func (f *Factory) Confirm(ctx context.Context, question string) error {
	if f.Yes || f.DryRun {
		return nil
	}
	if _, err := io.WriteString(f.ErrOut, question+" [y/N] "); err != nil {
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
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &Error{Code: ExitRefused, Message: "canceled: nothing was changed"}
}
