package cmdutil

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

// Lister returns at most limit names that begin with the prefix.
type Lister func(ctx context.Context, prefix string, limit int) ([]string, error)

// TenantNames is a Lister.
func (f *Factory) TenantNames(ctx context.Context, prefix string, limit int) ([]string, error) {
	db, err := f.DB(ctx)
	if err != nil {
		return nil, err
	}
	return db.Tenants.Names(ctx, prefix, limit)
}

// KeyIDs is a Lister.
func (f *Factory) KeyIDs(ctx context.Context, prefix string, limit int) ([]string, error) {
	db, err := f.DB(ctx)
	if err != nil {
		return nil, err
	}
	return db.Keys.IDs(ctx, prefix, limit)
}

// PlanNames is a Lister. It returns all plans: there are few.
func (f *Factory) PlanNames(ctx context.Context, _ string, _ int) ([]string, error) {
	db, err := f.DB(ctx)
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

// complete returns the names for a shell, none if the database does not answer.
func complete(cmd *cobra.Command, list Lister, prefix string) ([]string, cobra.ShellCompDirective) {
	if list == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	names, err := list(ctx, prefix, completeNames)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteFlag completes a flag's value from these values, and never from file names.
func CompleteFlag(cmd *cobra.Command, flag string, values ...string) {
	completeFlagFunc(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteFlagFrom completes a flag's value from a list.
func CompleteFlagFrom(cmd *cobra.Command, flag string, list Lister) {
	completeFlagFunc(cmd, flag, func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return complete(cmd, list, prefix)
	})
}

func completeFlagFunc(cmd *cobra.Command, flag string, fn cobra.CompletionFunc) {
	// It fails only for a flag that does not exist or is completed already: a mistake in this program.
	if err := cmd.RegisterFlagCompletionFunc(flag, fn); err != nil {
		panic(err)
	}
}
