package key

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

type listOptions struct {
	*cmdutil.Factory

	filter  store.KeyFilter
	expires cmdutil.When
	unused  time.Time
	list    cmdutil.ListFlags
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List keys, including revoked and expired ones",
		Long: `List keys: those to which all filters apply, including revoked and expired ones.
They are in order of tenants, the newest first. Those that --expires-within
selects begin with the one that expires first, and expired or revoked ones with
the latest.

` + cmdutil.PastHelp,
		Example: `  petstorectl key list --tenant acme
  petstorectl key list --expires-within 30d
  petstorectl key list --last4 x7Qd
  petstorectl key list --unused 90d --status active -o csv`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), o) },
	})
	cmdutil.TenantFlag(cmd, f, &o.filter.Tenant)
	cmdutil.EnumFlag(cmd, &o.filter.Status, "status", "", "only one `STATUS`: active, banned, expired or\nrevoked", keys.Active, keys.Banned, keys.Expired, keys.Revoked)
	cmdutil.LengthFlag(cmd, &o.expires, "expires-within", "only those that expire within `LENGTH`")
	cmdutil.PastFlag(cmd, f, &o.unused, "unused", "only those not used since `WHEN`, such as 90d")
	cmdutil.ParsedFlag(cmd, &o.filter.Last4, "last4", "", "only those that end with these 4 `CHARACTERS`", parseLast4)
	cmdutil.TextFlag(cmd, &o.filter.Search, "search", "only those with this `TEXT` in their name", cmdutil.MaxSearch)
	o.list.Add(cmd, cmdutil.DefaultLimit)
	o.list.AddAfter(cmd, "the key with this `KEY-ID`")
	return cmd
}

func parseLast4(text string) (string, error) {
	if len(text) != 4 {
		return "", errors.New("want the last 4 characters of a key")
	}
	return text, nil
}

func runList(ctx context.Context, o *listOptions) error {
	if err := cmdutil.CheckKeyID(o.list.After); err != nil {
		return err
	}
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	now, filter := o.Now(), o.filter
	filter.UnusedSince, filter.After, filter.Limit = o.unused, o.list.After, o.list.Query(o.Factory)
	if o.expires.IsSet() {
		filter.ExpiresBefore = o.expires.After(now)
	}
	empty := "no keys yet: petstorectl key issue TENANT"
	if o.list.Filtered("status", "expires-within", "unused", "last4", "search") {
		empty = "no key matches"
	}
	list, v := db.Keys.List(ctx, filter, now), View(now).Show("per_minute")
	if o.Printer().Format == "table" {
		var rows []keys.Key
		if rows, err = store.Collect(list); err == nil {
			list, v = cmdutil.Items(rows), tableOf(View(now), rows, now)
		}
	}
	if err == nil {
		err = cmdutil.PrintStream(o.Factory, v, list, &o.list, func(k keys.Key) string { return k.ID }, empty)
	}
	return o.Explain(ctx, err, cmdutil.Subject{Tenant: filter.Tenant, Key: filter.After})
}

// tableOf shows what differs among the keys.
func tableOf(v output.View[keys.Key], list []keys.Key, now time.Time) output.View[keys.Key] {
	for column, has := range map[string]func(keys.Key) bool{
		"per_minute":   func(k keys.Key) bool { return k.PerMinute > 0 },
		"expires_at":   func(k keys.Key) bool { return !k.ExpiresAt.IsZero() && k.RevokedAt.IsZero() },
		"banned_until": func(k keys.Key) bool { return k.Status(now) == keys.Banned },
		"replaced_by":  func(k keys.Key) bool { return k.Valid(now) && k.ReplacedBy != "" },
	} {
		if slices.ContainsFunc(list, has) {
			v = v.Show(column)
		}
	}
	return v
}
