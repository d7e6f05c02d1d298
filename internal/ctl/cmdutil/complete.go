package cmdutil

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/store/undo"
)

const (
	// completeTimeout bounds how long a shell waits for names.
	completeTimeout = time.Second
	completeNames   = 200
)

// Lister returns at most limit names that begin with the prefix. A name may be followed by a tab
// and a note that a shell shows beside it.
type Lister func(ctx context.Context, prefix string, limit int) ([]string, error)

// TenantNames lists the names of tenants, with their plans.
func TenantNames(f *Factory) Lister {
	return listFrom(f, func(ctx context.Context, db *store.DB, prefix string, limit int) ([]string, error) {
		tenants, err := db.Tenants.WithPrefix(ctx, prefix, limit)
		return described(tenants, func(t plans.Tenant) (string, []string) {
			if !t.SuspendedAt.IsZero() {
				return t.Name, []string{t.Plan, "suspended"}
			}
			return t.Name, []string{t.Plan}
		}), err
	})
}

// KeyIDs lists the IDs of keys, with their tenants, names and states.
func KeyIDs(f *Factory) Lister {
	return listFrom(f, func(ctx context.Context, db *store.DB, prefix string, limit int) ([]string, error) {
		list, err := db.Keys.WithPrefix(ctx, prefix, limit)
		return described(list, func(k keys.Key) (string, []string) {
			return k.ID, []string{k.TenantName, k.Name, string(k.Status(f.Now()))}
		}), err
	})
}

// ChangeNumbers lists the numbers of the latest changes that can be taken back, with their content
// and who made them.
func ChangeNumbers(f *Factory) Lister {
	return listFrom(f, func(ctx context.Context, db *store.DB, _ string, limit int) ([]string, error) {
		list, err := store.Collect(db.Audit.List(ctx, trail.Filter{Since: f.Now().Add(-undo.MaxAge), Limit: limit}))
		list = slices.DeleteFunc(list, func(e audit.Entry) bool { return audit.FindEvent(e.Action).Undo == "" })
		return described(list, func(e audit.Entry) (string, []string) {
			return strconv.FormatInt(e.Number, 10), []string{e.Action, cmp.Or(e.TenantName, e.Subject), e.Login}
		}), err
	})
}

// PlanNames lists the names of all plans, with their numbers. There are few.
func PlanNames(f *Factory) Lister {
	return listFrom(f, func(ctx context.Context, db *store.DB, _ string, _ int) ([]string, error) {
		list, err := db.Plans.List(ctx)
		return described(list, func(p plans.Plan) (string, []string) {
			if p.Quota == nil {
				return p.Name, []string{"a quota for each tenant"}
			}
			notes := []string{
				output.Thousands(p.Quota.PerMinute) + " per minute",
				output.Thousands(p.Quota.PerDay) + " per day",
			}
			if p.Quota.Month.Kind == plans.SomeMonth {
				notes = append(notes, output.Thousands(p.Quota.Month.Included)+" included per month")
			}
			return p.Name, notes
		}), err
	})
}

// described returns names with the notes that a shell shows beside them.
func described[T any](items []T, describe func(T) (name string, notes []string)) []string {
	lines := make([]string, len(items))
	for i, item := range items {
		name, notes := describe(item)
		notes = slices.DeleteFunc(notes, func(s string) bool { return s == "" })
		lines[i] = name + "\t" + output.Clean(strings.Join(notes, ", "))
	}
	return lines
}

// storedTenants lists many names, without notes, for suggestions.
func storedTenants(f *Factory) Lister {
	return listFrom(f, func(ctx context.Context, db *store.DB, prefix string, limit int) ([]string, error) {
		return db.Tenants.Names(ctx, prefix, limit)
	})
}

// storedKeys is storedTenants for the IDs of keys.
func storedKeys(f *Factory) Lister {
	return listFrom(f, func(ctx context.Context, db *store.DB, prefix string, limit int) ([]string, error) {
		return db.Keys.IDs(ctx, prefix, limit)
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
	completeFlagFunc(
		cmd,
		flag,
		func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return complete(cmd, list, prefix)
		},
	)
}

func completeFlagFunc(cmd *cobra.Command, flag string, fn cobra.CompletionFunc) {
	// Registering fails only if the flag does not exist or is completed already, which is a mistake
	// in this program.
	if err := cmd.RegisterFlagCompletionFunc(flag, fn); err != nil {
		panic(err)
	}
}
