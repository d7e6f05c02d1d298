package cmdutil

import (
	"context"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

// Change is a command that changes one item: it asks for confirmation, makes the change and reports it.
type Change[T any] struct {
	Subject Subject
	// Question returns the question to confirm, "" for none.
	Question func(context.Context, *store.DB) (string, error)
	Do       func(context.Context, *store.DB, audit.By) (T, error)
	// Notice is the sentence about what was done, in the past tense.
	Notice func(T) string
	View   output.View[T]
}

// Run makes the change.
func (c Change[T]) Run(ctx context.Context, f *Factory) error {
	actor, db, err := f.BeginChange(ctx)
	if err != nil {
		return err
	}
	if err := c.ask(ctx, f, db, actor); err != nil {
		return err
	}
	after, err := c.Do(ctx, db, actor)
	if err != nil {
		return f.Explain(ctx, err, c.Subject)
	}
	f.Changedf("%s", c.Notice(after))
	return PrintChanged(f, c.View, after)
}

func (c Change[T]) ask(ctx context.Context, f *Factory, db *store.DB, by audit.By) error {
	if c.Question == nil {
		return nil
	}
	question, err := c.Question(ctx, db)
	if by.DryRun = true; err == nil && !f.Yes && !f.DryRun {
		_, err = c.Do(ctx, db, by)
	}
	if err != nil || question == "" {
		return f.Explain(ctx, err, c.Subject)
	}
	return f.Confirm(ctx, question)
}
