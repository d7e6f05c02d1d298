package key

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
)

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	var (
		filter  tenancy.KeyFilter
		expires cmdutil.When
		table   []keys.Key
	)
	l := &cmdutil.List[keys.Key]{
		Factory: f, Empty: "no keys yet: petstorectl key issue TENANT", NoMatch: "no key matches",
		Filters: []string{"status", "scope", "expires-within", "unused", "last4", "search"},
		After:   func(k keys.Key) string { return k.ID },
	}
	l.Check = func() error { return cmdutil.CheckKeyID(l.Subject.Key) }
	l.Rows = func(ctx context.Context, db *store.DB, limit int) (rows iter.Seq2[keys.Key, error], err error) {
		filter.Tenant, filter.After, filter.Limit = l.Subject.Tenant, l.Subject.Key, limit
		if expires.IsSet() {
			filter.ExpiresBefore = expires.After(f.Now())
		}
		if rows = db.Keys.List(ctx, filter, f.Now()); f.Printer().Format == "table" {
			table, err = store.Collect(rows)
			rows = cmdutil.Items(table)
		}
		return rows, err
	}
	l.View = func() output.View[keys.Key] { return View(f.Now()).Show("per_minute") }
	l.Table = func() output.View[keys.Key] { return tableOf(View(f.Now()), table, f.Now()) }
	cmd := l.Command(&cobra.Command{
		Use:   "list",
		Short: "List keys, including revoked and expired ones",
		Long: `List keys: those to which all filters apply, including revoked and expired ones.
Keys are sorted by tenant, the newest first. With --expires-within the key that
expires first comes first; with --status expired or revoked, the key that ended
last.

` + cmdutil.PastHelp,
		Example: `  petstorectl key list --tenant acme
  petstorectl key list --expires-within 30d
  petstorectl key list --last4 x7Qd
  petstorectl key list --unused 90d --status active -o csv`,
	})
	cmdutil.TenantFlag(cmd, f, &l.Subject.Tenant)
	cmdutil.EnumFlag(
		cmd,
		&filter.Status,
		"status",
		"",
		"only one `STATUS`: active, banned, expired or\nrevoked",
		keys.Active,
		keys.Banned,
		keys.Expired,
		keys.Revoked,
	)
	cmdutil.EnumFlag(cmd, &filter.Scope, "scope", "", "only one `SCOPE`: read, write or manage", keys.Scopes...)
	cmdutil.LengthFlag(cmd, &expires, "expires-within", "only those that expire within `LENGTH`")
	cmdutil.PastFlag(cmd, f, &filter.UnusedSince, "unused", "only those not used since `WHEN`, such as 90d")
	cmdutil.ParsedFlag(cmd, &filter.Last4, "last4", "", "only those that end with these 4 `CHARACTERS`", parseLast4)
	cmdutil.TextFlag(cmd, &filter.Search, "search", "only those with this `TEXT` in their name", cmdutil.MaxSearch)
	cmdutil.AfterFlag(cmd, &l.Subject.Key, "the key with this `KEY-ID`")
	return cmd
}

func parseLast4(text string) (string, error) {
	if len(text) != 4 {
		return "", errors.New("want the last 4 characters of a key")
	}
	return text, nil
}

// tableOf shows the columns in which the keys differ.
func tableOf(v output.View[keys.Key], list []keys.Key, now time.Time) output.View[keys.Key] {
	for column, has := range map[string]func(keys.Key) bool{
		"per_minute":        func(k keys.Key) bool { return k.PerMinute > 0 },
		"scope":             func(k keys.Key) bool { return k.Scope != keys.ScopeWrite },
		"allowed_addresses": func(k keys.Key) bool { return k.Allowed != "" },
		"expires_at":        func(k keys.Key) bool { return !k.ExpiresAt.IsZero() && k.RevokedAt.IsZero() },
		"banned_until":      func(k keys.Key) bool { return k.Status(now) == keys.Banned },
		"replaced_by":       func(k keys.Key) bool { return k.Valid(now) && k.ReplacedBy != "" },
	} {
		if slices.ContainsFunc(list, has) {
			v = v.Show(column)
		}
	}
	return v
}
