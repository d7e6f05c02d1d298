package cmdutil

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/store"
)

const (
	// completeTimeout bounds how long a shell waits for names.
	completeTimeout = time.Second
	completeNames   = 200
)

// Lister returns at most limit names that begin with the prefix.
type Lister func(ctx context.Context, prefix string, limit int) ([]string, error)

// TenantNames lists the names of tenants.
func TenantNames(f *Factory) Lister {
	return listFrom(f, func(ctx context.Context, db *store.DB, prefix string, limit int) ([]string, error) {
		return db.Tenants.Names(ctx, prefix, limit)
	})
}

// KeyIDs lists the IDs of keys.
func KeyIDs(f *Factory) Lister {
	return listFrom(f, func(ctx context.Context, db *store.DB, prefix string, limit int) ([]string, error) {
		return db.Keys.IDs(ctx, prefix, limit)
	})
}

// PlanNames lists the names of all plans: there are few.
func PlanNames(f *Factory) Lister {
	return listFrom(f, func(ctx context.Context, db *store.DB, _ string, _ int) ([]string, error) {
		list, err := db.Plans.List(ctx)
		names := make([]string, len(list))
		for i, p := range list {
			names[i] = p.Name
		}
		return names, err
	})
}

func listFrom(f *Factory, query func(context.Context, *store.DB, string, int) ([]string, error)) Lister {
	return func(ctx context.Context, prefix string, limit int) ([]string, error) {
		db, err := f.DB(ctx)
		if err != nil {
			return nil, err
		}
		return query(ctx, db, prefix, limit)
	}
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
