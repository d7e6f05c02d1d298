package key

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

func newCmdEdit(f *cmdutil.Factory) *cobra.Command {
	var (
		flags  editFlags
		change keys.Edit
	)
	b := &cmdutil.Batch[edited]{
		Factory:    f,
		Item:       cmdutil.KeyIDArg(f, nil),
		Noun:       "keys",
		Doing:      "changing keys",
		Find:       cmdutil.FindKey,
		Lock:       cmdutil.LockKeys,
		AllOf:      ValidKeys(f),
		AllOfUsage: "every active or banned key of this `TENANT`",
		Subject:    subject,
		View: func(now time.Time) output.View[edited] {
			return output.Map(View(now), func(e edited) keys.Key { return e.after })
		},
	}
	b.Check = func(cmd *cobra.Command) (err error) {
		change, err = flags.edit(cmd)
		return err
	}
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, id string) (e edited, err error) {
		e.before, e.after, err = f.Keys(db).Edit(ctx, by, id, change)
		if err == nil {
			e.warning = limitWarning(ctx, f, e.after)
		}
		return e, err
	}
	b.Notice = func(e edited) cmdutil.Notice { return e.notice() }
	cmd := b.Command(&cobra.Command{
		Use:   "edit {KEY-ID... | --all-of TENANT | --stdin}",
		Short: "Change a key's name, own limit, scope, addresses or expiry",
		Long: `Change a key's name, its own limit, its scope, the addresses from which it may
be used, or its expiry. The change takes effect on every server within 400 ms. A
value whose flag is not given stays as it is; --allow replaces all addresses.

A key that has expired stays expired: issue another one.

A key's own limit applies in addition to the tenant's quota: a script may be
limited to 50 of the 300 requests per minute. It does not raise the quota.

` + cmdutil.ItemsHelp + "\n\n" + cmdutil.WhenHelp,
		Example: `  petstorectl key edit key_9Xb2LmQ0tR7sVw1Z --per-minute 50
  petstorectl key edit key_9Xb2LmQ0tR7sVw1Z --no-per-minute --name "nightly import"
  petstorectl key edit key_9Xb2LmQ0tR7sVw1Z --expires 90d --reason "order 18"
  petstorectl key edit key_9Xb2LmQ0tR7sVw1Z --scope read --allow 203.0.113.7,2001:db8::/32`,
	})
	cmdutil.StringFlag(cmd, &flags.name, "name", "what the key is for: `TEXT`, empty to remove it")
	limitFlag(cmd, &flags.perMinute)
	cmd.Flags().BoolVar(&flags.noLimit, "no-per-minute", false, "remove the key's own limit")
	accessFlags(cmd, &flags.scope, &flags.allowed)
	cmd.Flags().BoolVar(&flags.anywhere, "no-allow", false, "let the key be used from any address")
	cmdutil.ExpiresFlag(cmd, f, &flags.expires, "`WHEN` it expires: 90d, 2027-01-01")
	cmd.Flags().BoolVar(&flags.noExpiry, "no-expires", false, "let the key never expire")
	return cmd
}

// editFlags are the flags that say what to change.
type editFlags struct {
	name      string
	perMinute int64
	noLimit   bool
	expires   *time.Time
	noExpiry  bool
	scope     keys.Scope
	allowed   keys.Ranges
	anywhere  bool
}

func (f editFlags) edit(cmd *cobra.Command) (e keys.Edit, err error) {
	limit := cmd.Flags().Changed("per-minute")
	switch {
	case limit && f.noLimit:
		return e, cmdutil.UsageErrorf("--per-minute and --no-per-minute can't be used together")
	case limit:
		e.PerMinute = &f.perMinute
	case f.noLimit:
		e.PerMinute = new(int64)
	}
	allow := cmd.Flags().Changed("allow")
	if allow && f.anywhere {
		return e, cmdutil.UsageErrorf("--allow and --no-allow can't be used together")
	}
	if allow || f.anywhere {
		e.Allowed = &f.allowed
	}
	if f.scope != "" {
		e.Scope = &f.scope
	}
	switch {
	case f.expires != nil && f.noExpiry:
		return e, cmdutil.UsageErrorf("--expires and --no-expires can't be used together")
	case f.noExpiry:
		e.ExpiresAt = &time.Time{}
	default:
		e.ExpiresAt = f.expires
	}
	if cmd.Flags().Changed("name") {
		e.Name = &f.name
	}
	if e == (keys.Edit{}) {
		err = cmdutil.UsageErrorf(
			"nothing to change: give --name, --per-minute, --scope, --allow, --expires or one of the --no- flags",
		).
			WithHint("see: " + cmd.CommandPath() + " --help")
	}
	return e, err
}

// edited is a key before and after the change, with a warning, "" for none.
type edited struct {
	before, after keys.Key
	warning       string
}

func (e edited) notice() cmdutil.Notice {
	id := "key " + e.after.ID
	n := cmdutil.Notice{Item: id + " of tenant " + e.after.TenantName}
	n.Text = "changed " + n.Item + ": " + differences(e.before, e.after)
	if e.before == e.after {
		n = cmdutil.Notice{Item: id, Text: id + " already has these values", Unchanged: true}
	}
	if e.warning != "" {
		n.More = []string{e.warning}
	}
	return n
}

// differences says what an edit changed, in words.
func differences(before, after keys.Key) string {
	var changes []string
	switch {
	case before.Name == after.Name:
	case after.Name == "":
		changes = append(changes, "no name")
	default:
		changes = append(changes, "name "+output.Clean(after.Name))
	}
	if before.PerMinute != after.PerMinute {
		changes = append(changes, LimitText(after))
	}
	if before.Scope != after.Scope || before.Allowed != after.Allowed {
		changes = append(changes, cmp.Or(AccessText(after), "may write, from any address"))
	}
	switch {
	case before.ExpiresAt.Equal(after.ExpiresAt):
	case after.ExpiresAt.IsZero():
		changes = append(changes, "never expires")
	default:
		changes = append(changes, "expires at "+output.Text(after.ExpiresAt))
	}
	return strings.Join(changes, ", ")
}

// accessFlags adds --scope and --allow.
func accessFlags(cmd *cobra.Command, scope *keys.Scope, allowed *keys.Ranges) {
	cmdutil.EnumFlag(
		cmd,
		scope,
		"scope",
		"",
		"`SCOPE`: read, for GET and HEAD, write, or manage, for\nthe tenant's keys too",
		keys.Scopes...)
	cmdutil.ParsedFlag(
		cmd,
		allowed,
		"allow",
		"",
		"`ADDRESSES` from which the key may be used, at most 20,\nsuch as 203.0.113.7,2001:db8::/32",
		func(text string) (keys.Ranges, error) {
			return keys.ParseRanges(append(allowed.List(), strings.Split(text, ",")...))
		},
	)
}

// AccessText says in words what a key may do and from where; "" for a key that may write from
// anywhere.
func AccessText(k keys.Key) string {
	var parts []string
	switch k.Scope {
	case keys.ScopeWrite:
	case keys.ScopeManage:
		parts = append(parts, "may manage the tenant's keys")
	default:
		parts = append(parts, "may only "+string(k.Scope))
	}
	if k.Allowed != "" {
		parts = append(parts, "may be used from "+strings.Join(k.Allowed.List(), ", "))
	}
	return strings.Join(parts, ", ")
}

// limitFlag adds --per-minute.
func limitFlag(cmd *cobra.Command, perMinute *int64) {
	cmdutil.NumberFlag(cmd, perMinute, "per-minute", "the key's own limit: `N` requests per minute")
}

// LimitText is a key's own limit in words.
func LimitText(k keys.Key) string {
	if k.PerMinute == 0 {
		return "no limit of its own"
	}
	count := output.Thousands(k.PerMinute) + " requests"
	if k.PerMinute == 1 {
		count = "1 request"
	}
	return count + " per minute"
}

// limitWarning says that a key's own limit has no effect; "" if it has. It is only advice: if the
// tenant can't be read, it is "".
func limitWarning(ctx context.Context, f *cmdutil.Factory, k keys.Key) string {
	db, err := f.DB(ctx)
	if err != nil || k.PerMinute == 0 {
		return ""
	}
	t, err := db.Tenants.Get(ctx, k.TenantName)
	if err != nil || k.PerMinute < t.Quota.PerMinute {
		return ""
	}
	return fmt.Sprintf(
		"the key's own limit has no effect: tenant %s on plan %s is limited to %s requests per minute for all its keys",
		t.Name,
		t.Plan,
		output.Thousands(t.Quota.PerMinute),
	)
}
