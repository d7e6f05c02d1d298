// Package ban holds the commands about bans.
package ban

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
)

// NewCmd returns the command ban.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("ban,bans", "Manage bans", newCmdPlace(f), newCmdList(f), newCmdLift(f))
}

// View shows a ban with its status at an instant.
func View(now time.Time) output.View[keys.Ban] {
	return output.View[keys.Ban]{
		{Name: "id", Value: func(b keys.Ban) any { return b.ID }},
		{Name: "key_id", Value: func(b keys.Ban) any { return b.KeyID }, InList: true},
		{Name: "tenant", Value: func(b keys.Ban) any { return b.TenantName }, InList: true, MinWidth: output.TextWidth},
		{Name: "source", Value: func(b keys.Ban) any { return string(b.Source) }, InList: true},
		{Name: "status", Value: func(b keys.Ban) any { return Status(b, now) }},
		{Name: "starts_at", Value: func(b keys.Ban) any { return b.StartsAt }},
		{Name: "ends_at", Value: func(b keys.Ban) any { return b.EndsAt }, InList: true},
		{Name: "lifted_at", Value: func(b keys.Ban) any { return b.LiftedAt }},
		{Name: "reason", Value: func(b keys.Ban) any { return b.Reason }, InList: true, MinWidth: output.TextWidth},
	}
}

// Status is in force, ended or lifted.
func Status(b keys.Ban, now time.Time) string {
	switch {
	case !b.LiftedAt.IsZero():
		return "lifted"
	case !now.Before(b.EndsAt):
		return "ended"
	}
	return "in force"
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	var filter tenancy.BanFilter
	l := &cmdutil.List[keys.Ban]{
		Factory: f, Empty: "no bans in force", NoMatch: "no ban matches", Filters: []string{"source", "since"},
		After: func(b keys.Ban) string { return strconv.FormatInt(b.ID, 10) },
	}
	l.Rows = func(ctx context.Context, db *store.DB, limit int) (iter.Seq2[keys.Ban, error], error) {
		filter.Tenant, filter.Limit = l.Subject.Tenant, limit
		if filter.Past = filter.Past || !filter.Since.IsZero(); filter.Past {
			l.Empty = "no bans"
		}
		return db.Bans.List(ctx, filter, f.Now()), nil
	}
	l.View = func() output.View[keys.Ban] {
		if filter.Past {
			return View(f.Now()).Show("status")
		}
		return View(f.Now())
	}
	l.Explain = func(ctx context.Context, err error) error {
		if errors.Is(err, keys.ErrBanNotFound) {
			return cmdutil.NotFoundErrorf("there is no ban %d", filter.After).WithHint("begin again without --after")
		}
		return f.Explain(ctx, err, l.Subject)
	}
	cmd := l.Command(&cobra.Command{
		Use:   "list",
		Short: "List bans in force, the newest first",
		Long: `List bans, the newest first: those in force to which all filters apply, and with
--past or --since also those that ended or were lifted.

` + cmdutil.PastHelp,
		Example: `  petstorectl ban list
  petstorectl ban list --tenant acme --past
  petstorectl ban list --since yesterday --source automatic`,
	})
	cmdutil.TenantFlag(cmd, f, &l.Subject.Tenant)
	cmdutil.EnumFlag(
		cmd,
		&filter.Source,
		"source",
		"",
		"only one `SOURCE`: automatic or staff",
		keys.Automatic,
		keys.ByStaff,
	)
	cmdutil.PastFlag(cmd, f, &filter.Since, "since", "only those that began at `WHEN` or later, such as 7d")
	cmd.Flags().BoolVar(&filter.Past, "past", false, "include bans that ended or were lifted")
	cmdutil.NumberFlag(cmd, &filter.After, "after", "begin after the ban with this `ID`")
	return cmd
}

// batch is a change of the bans of keys.
func batch(f *cmdutil.Factory, doing string) *cmdutil.Batch[keys.Ban] {
	return &cmdutil.Batch[keys.Ban]{
		Factory: f,
		Item:    cmdutil.KeyIDArg(f, nil),
		Noun:    "keys",
		Doing:   doing,
		Find:    cmdutil.FindKey,
		Lock:    cmdutil.LockKeys,
		Subject: func(id string) cmdutil.Subject { return cmdutil.Subject{Key: id} },
		View:    View,
	}
}

func newCmdPlace(f *cmdutil.Factory) *cobra.Command {
	var duration time.Duration
	b := batch(f, "banning keys")
	b.Requires = []string{"for", "reason"}
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, id string) (keys.Ban, error) {
		return db.Bans.Place(ctx, by, tenancy.NewBan{KeyID: id, Length: duration, Reason: f.Reason}, f.Now())
	}
	b.Notice = func(b keys.Ban) cmdutil.Notice {
		item := "key " + b.KeyID + " of tenant " + b.TenantName
		return cmdutil.Notice{Text: "banned " + item + " until " + output.Text(b.EndsAt), Item: item}
	}
	cmd := b.Command(&cobra.Command{
		Use:   "place {KEY-ID... | --stdin} --for DURATION",
		Short: "Ban a key for a time",
		Long: `Ban a key for a time. Every server refuses it within 400 ms. The ban replaces a
ban in force, even if that would last longer.

The reason is shown to the tenant with each refusal.

` + cmdutil.ItemsHelp,
		Example: `  petstorectl ban place key_9Xb2LmQ0tR7sVw1Z --for 1h --reason "scraping the catalogue"`,
	})
	cmdutil.ParsedFlag(
		cmd,
		&duration,
		"for",
		"",
		"`DURATION` of the ban: 30m, 1h, 7d or 2w",
		cmdutil.ParseDuration,
		"15m",
		"1h",
		"24h",
		"7d",
	)
	return cmd
}

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
			return cmdutil.NotFoundErrorf(
				"no key of tenant %.80s is banned",
				item,
			).WithHint(fmt.Sprintf("see: petstorectl ban list --tenant %.80s --past", item))
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

// isKeyID reports whether an item is the ID of a key. No tenant's name has an underscore.
func isKeyID(item string) bool { return strings.HasPrefix(item, "key_") }

// banned returns the banned keys of a tenant.
func banned(ctx context.Context, f *cmdutil.Factory, db *store.DB, tenant string) (ids []string, err error) {
	for b, err := range db.Bans.List(ctx, tenancy.BanFilter{Tenant: tenant}, f.Now()) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, b.KeyID)
	}
	return ids, nil
}
