package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

const (
	// completeTimeout bounds how long a shell waits for names.
	completeTimeout = time.Second
	completeNames   = 200
)

// lister returns at most limit names that begin with the prefix.
type lister func(ctx context.Context, prefix string, limit int) ([]string, error)

func (f *factory) tenantNames(ctx context.Context, prefix string, limit int) ([]string, error) {
	db, err := f.database(ctx)
	if err != nil {
		return nil, err
	}
	return db.Tenants.Names(ctx, prefix, limit)
}

func (f *factory) keyIDs(ctx context.Context, prefix string, limit int) ([]string, error) {
	db, err := f.database(ctx)
	if err != nil {
		return nil, err
	}
	return db.Keys.IDs(ctx, prefix, limit)
}

func (f *factory) planNames(ctx context.Context, _ string, _ int) ([]string, error) {
	db, err := f.database(ctx)
	if err != nil {
		return nil, err
	}
	list, err := db.Plans.List(ctx)
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Name
	}
	return names, err
}

// completeArgs completes each argument from its list. A shell gets no word when the database does not answer.
func completeArgs(lists ...lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(lists) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completeTimeout)
		defer cancel()
		names, err := lists[len(args)](ctx, prefix, completeNames)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlag completes a flag's value from fixed words, none of which may be a file's name.
func completeFlag(cmd *cobra.Command, flag string, words ...string) {
	completeFlagFunc(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func completeFlagFunc(cmd *cobra.Command, flag string, fn cobra.CompletionFunc) {
	// It fails only for a flag that does not exist or that has one already: a mistake in this program.
	if err := cmd.RegisterFlagCompletionFunc(flag, fn); err != nil {
		panic(err)
	}
}

// completeFlagFrom completes a flag's value from a list.
func completeFlagFrom(cmd *cobra.Command, flag string, list lister) {
	complete := completeArgs(list)
	completeFlagFunc(cmd, flag, func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return complete(cmd, nil, prefix)
	})
}
