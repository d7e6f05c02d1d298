// Package key holds the commands about API keys.
package key

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
)

// NewCmd returns the command key.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("key,keys", "Manage API keys",
		newCmdIssue(f), newCmdList(f), newCmdShow(f),
		newCmdEdit(f), newCmdRotate(f), newCmdRevoke(f),
	)
}

// View shows a key with its status at an instant.
func View(now time.Time) output.View[keys.Key] {
	return output.View[keys.Key]{
		{Name: "id", Value: func(k keys.Key) any { return k.ID }, InList: true},
		{Name: "tenant", Value: func(k keys.Key) any { return k.TenantName }, InList: true, MinWidth: output.TextWidth},
		{Name: "name", Value: func(k keys.Key) any { return k.Name }, InList: true, MinWidth: output.TextWidth},
		{
			Name:    "environment",
			Heading: "ENV",
			Value:   func(k keys.Key) any { return string(k.Environment) },
			InList:  true,
			Spare:   4,
		},
		{Name: "last4", Value: func(k keys.Key) any { return k.Last4 }, InList: true, Spare: 1},
		{Name: "status", Value: func(k keys.Key) any { return string(k.Status(now)) }, InList: true},
		{Name: "banned_until", Heading: "BAN ENDS", Value: func(k keys.Key) any { return inForce(k, now).EndsAt }},
		{Name: "created_at", Value: func(k keys.Key) any { return k.CreatedAt }},
		{Name: "expires_at", Heading: "EXPIRES", Value: func(k keys.Key) any { return k.ExpiresAt }},
		{Name: "replaced_by", Heading: "NEW KEY", Value: func(k keys.Key) any { return k.ReplacedBy }, MinWidth: 9},
		{Name: "revoked_at", Value: func(k keys.Key) any { return k.RevokedAt }},
		{
			Name:    "last_used_at",
			Heading: "LAST USED",
			Value:   func(k keys.Key) any { return k.LastUsedAt },
			InList:  true,
			Spare:   2,
		},
		{
			Name:    "per_minute",
			Heading: "PER MIN",
			Value:   func(k keys.Key) any { return output.NumberOrNil(k.PerMinute) },
			Spare:   3,
		},
		{Name: "scope", Value: func(k keys.Key) any { return string(k.Scope) }, Spare: 3},
		{
			Name:     "allowed_addresses",
			Heading:  "FROM",
			Value:    func(k keys.Key) any { return k.Allowed.List() },
			MinWidth: output.TextWidth,
		},
		{Name: "ban_reason", Value: func(k keys.Key) any { return inForce(k, now).Reason }},
	}
}

// inForce is the key's ban, the zero Ban if none is in force.
func inForce(k keys.Key, now time.Time) keys.Ban {
	if k.Ban.InForce(now) {
		return k.Ban
	}
	return keys.Ban{}
}

// Label names a key in a few characters: by its name or, if it has none, the last four characters
// of its plaintext.
func Label(k keys.Key) string {
	if k.Name == "" {
		return "…" + k.Last4
	}
	return output.Clean(k.Name)
}

// NameSuffix is the key's name in parentheses, if it has one.
func NameSuffix(k keys.Key) string {
	if k.Name == "" {
		return ""
	}
	return " (" + output.Clean(k.Name) + ")"
}

func newCmdShow(f *cmdutil.Factory) *cobra.Command {
	s := &cmdutil.Show[keys.Key]{Factory: f, View: View}
	s.Get = func(ctx context.Context, db *store.DB) (keys.Key, error) { return db.Keys.Get(ctx, s.Subject.Key) }
	return s.Command(&cobra.Command{
		Use:     "show KEY-ID",
		Short:   "Show a key and its ban",
		Example: `  petstorectl key show key_9Xb2LmQ0tR7sVw1Z`,
	}, cmdutil.KeyIDArg(f, &s.Subject.Key))
}

func subject(id string) cmdutil.Subject { return cmdutil.Subject{Key: id} }

// ValidKeys returns the AllOf of a Batch that changes a tenant's valid keys, including banned ones.
func ValidKeys(f *cmdutil.Factory) func(context.Context, *store.DB, string) ([]string, error) {
	return func(ctx context.Context, db *store.DB, tenant string) (ids []string, err error) {
		for k, err := range db.Keys.List(ctx, tenancy.KeyFilter{Tenant: tenant}, f.Now()) {
			if err != nil {
				return nil, err
			}
			if k.Valid(f.Now()) {
				ids = append(ids, k.ID)
			}
		}
		return ids, nil
	}
}

// question asks about a change that ends keys. It shows when each was last used, and how often
// since the last hour began.
func question(
	ctx context.Context,
	f *cmdutil.Factory,
	db *store.DB,
	ids []string,
	verb string,
) (q cmdutil.Question, err error) {
	found := map[string]keys.Key{}
	var tenants []string
	for _, id := range ids {
		k, err := db.Keys.Get(ctx, id)
		if err != nil {
			return q, err
		}
		found[id] = k
		if !slices.Contains(tenants, k.TenantName) {
			tenants = append(tenants, k.TenantName)
		}
	}
	now := f.Now()
	since := now.Add(-time.Hour).Truncate(time.Hour)
	recent, err := db.Usage.KeysSince(ctx, ids, since)
	if err != nil {
		return q, err
	}
	today, err := db.Usage.TenantsSince(ctx, tenants, now.Truncate(24*time.Hour))
	if err != nil {
		return q, err
	}
	q.Facts = cmdutil.Facts(ids, func(id string) string {
		used := "never used"
		if at := found[id].LastUsedAt; !at.IsZero() {
			used = "last used at " + output.Text(at)
		}
		return fmt.Sprintf(
			"%s%s of tenant %s: %s, %s requests since %s UTC",
			id,
			NameSuffix(found[id]),
			found[id].TenantName,
			used,
			output.Thousands(recent[id]),
			since.Format("15:04"),
		)
	})
	q.Word = cmdutil.WordFor(today)
	q.Text = fmt.Sprintf("%s these %d keys?", verb, len(ids))
	if k := found[ids[0]]; len(ids) == 1 {
		q.Text = fmt.Sprintf("%s key %s%s of tenant %s?", verb, k.ID, NameSuffix(k), k.TenantName)
	}
	return q, nil
}

func newCmdRevoke(f *cmdutil.Factory) *cobra.Command {
	var replacements bool
	b := &cmdutil.Batch[revoked]{
		Factory: f,
		Item:    cmdutil.KeyIDArg(f, nil),
		Noun:    "keys",
		Doing:   "revoking keys",
		Find: func(ctx context.Context, db *store.DB, item string) ([]string, error) {
			ids, err := cmdutil.FindKey(ctx, db, item)
			if err != nil || !replacements {
				return ids, err
			}
			made, err := db.Keys.MadeOfItself(ctx, ids[0], f.Now())
			return append(ids, made...), err
		},
		Lock:       cmdutil.LockKeys,
		AllOf:      ValidKeys(f),
		AllOfUsage: "every active or banned key of this `TENANT`",
		Subject:    subject,
		View: func(now time.Time) output.View[revoked] {
			return output.Map(View(now), func(r revoked) keys.Key { return r.Key })
		},
	}
	b.Question = func(ctx context.Context, db *store.DB, ids []string, _ []revoked) (cmdutil.Question, error) {
		return question(ctx, f, db, ids, "Revoke")
	}
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, id string) (r revoked, err error) {
		if r.Key, err = f.Keys(db).Revoke(ctx, by, id); err == nil && !replacements {
			r.made, err = db.Keys.MadeOfItself(ctx, id, f.Now())
		}
		return r, err
	}
	b.Notice = func(r revoked) cmdutil.Notice {
		item := "key " + r.ID + " of tenant " + r.TenantName
		n := cmdutil.Notice{Text: "revoked " + item, Item: item}
		for _, id := range r.made {
			n.More = append(n.More, "it made key "+id+" of itself, which is still valid: petstorectl key revoke "+id)
		}
		return n
	}
	cmd := b.Command(&cobra.Command{
		Use:   "revoke {KEY-ID... | --all-of TENANT | --stdin}",
		Short: "Revoke a key permanently",
		Long: `Revoke keys permanently. Every server refuses them within 400 ms. The login that
revoked a key can bring it back for 15 minutes: petstorectl undo.

A key can rotate itself, so whoever found it may have a replacement. With
--replacements those that it made of itself are revoked too.

` + cmdutil.ItemsHelp + `

The command asks for confirmation, and if the tenant called today for its name.
Scripts need --yes.`,
		Example: `  petstorectl key revoke key_9Xb2LmQ0tR7sVw1Z --reason "leaked in a public repository" --yes
  petstorectl key revoke --all-of acme --reason "contract ended"
  petstorectl key revoke key_9Xb2LmQ0tR7sVw1Z --replacements --reason stolen
  petstorectl key list --unused 1y | petstorectl key revoke --stdin --dry-run`,
	})
	cmd.Flags().BoolVar(&replacements, "replacements", false, "also the keys that it made by rotating itself")
	return cmd
}

// revoked is a revoked key, with the IDs of the keys that it issued by rotating itself and that
// stay valid.
type revoked struct {
	keys.Key
	made []string
}
