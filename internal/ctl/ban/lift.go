package ban

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

func newCmdLift(f *cmdutil.Factory) *cobra.Command {
	b := batch(f, "lifting bans")
	b.Item.Complete, b.AllOfUsage = cmdutil.TenantNames(f), "every banned key of this `TENANT`"
	b.AllOf = func(ctx context.Context, db *store.DB, tenant string) ([]string, error) {
		return banned(ctx, f, db, tenant)
	}
	b.Find = func(ctx context.Context, db *store.DB, item string) ([]string, error) {
		if isKeyID(item) {
			return cmdutil.FindKey(ctx, db, item)
		}
		ids, err := banned(ctx, f, db, item)
		if err == nil && len(ids) == 0 {
			err = keys.ErrBanNotFound
		}
		return ids, err
	}
	b.Explain = func(ctx context.Context, err error, item string) error {
		switch {
		case isKeyID(item):
			return f.Explain(ctx, err, cmdutil.Subject{Key: item})
		case errors.Is(err, keys.ErrBanNotFound):
			return &cmdutil.Error{
				Code: cmdutil.ExitNotFound, Message: fmt.Sprintf("no key of tenant %.80s is banned", item),
				Hint: fmt.Sprintf("see: petstorectl ban list --tenant %.80s --past", item),
			}
		}
		return f.Explain(ctx, err, cmdutil.Subject{Tenant: item})
	}
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, id string) (keys.Ban, error) {
		return db.Bans.Lift(ctx, by, id, f.Now())
	}
	b.Notice = func(b keys.Ban) cmdutil.Notice {
		item := "key " + b.KeyID + " of tenant " + b.TenantName
		return cmdutil.Notice{Text: "lifted the ban on " + item, Item: item}
	}
	return b.Command(&cobra.Command{
		Use:   "lift {KEY-ID | TENANT}... [--all-of TENANT | --stdin]",
		Short: "Lift the ban on a key, or on all keys of a tenant",
		Long: `Lift the bans in force on keys. A TENANT stands for all its banned keys, and
so does --all-of.

` + cmdutil.ItemsHelp,
		Example: `  petstorectl ban lift acme --reason "they fixed their loop"
  petstorectl ban lift key_9Xb2LmQ0tR7sVw1Z
  petstorectl ban list --source automatic | petstorectl ban lift --stdin`,
	})
}

// isKeyID reports whether an item is the ID of a key: no tenant's name has an underscore.
func isKeyID(item string) bool { return strings.HasPrefix(item, "key_") }

// banned returns the banned keys of a tenant.
func banned(ctx context.Context, f *cmdutil.Factory, db *store.DB, tenant string) (ids []string, err error) {
	for b, err := range db.Bans.List(ctx, store.BanFilter{Tenant: tenant}, f.Now()) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, b.KeyID)
	}
	return ids, nil
}
