package main

import (
	"context"

	"petstore.example/internal/audit"
	"petstore.example/internal/store"
)

// change is what a command does to one thing: look, ask, do, tell.
type change[T any] struct {
	about about
	// question returns what to ask first, "" for nothing; nil for a change that is no harm.
	question func(context.Context, *store.DB) (string, error)
	do       func(context.Context, *store.DB, audit.By) (T, error)
	// told is the sentence about what was done, in the past tense.
	told func(T) string
	view view[T]
}

func (c change[T]) run(ctx context.Context, f *factory) error {
	by, err := f.by()
	if err != nil {
		return err
	}
	db, err := f.database(ctx)
	if err != nil {
		return err
	}
	if err := c.ask(ctx, f, db); err != nil {
		return err
	}
	after, err := c.do(ctx, db, by)
	if err != nil {
		return f.explain(ctx, err, c.about)
	}
	f.changed("%s", c.told(after))
	return printChanged(f, c.view, after)
}

func (c change[T]) ask(ctx context.Context, f *factory, db *store.DB) error {
	if c.question == nil {
		return nil
	}
	question, err := c.question(ctx, db)
	if err != nil {
		return f.explain(ctx, err, c.about)
	}
	if question == "" {
		return nil
	}
	return f.confirm(ctx, question)
}
