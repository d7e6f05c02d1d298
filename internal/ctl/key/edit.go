package key

import (
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

type editOptions struct {
	*cmdutil.Factory

	items cmdutil.ItemArgs
	edit  keys.Edit
}

func newCmdEdit(f *cmdutil.Factory, runF func(context.Context, *editOptions) error) *cobra.Command {
	o := &editOptions{Factory: f}
	var flags editFlags
	cmd := cmdutil.ItemsCommand(f, &cobra.Command{
		Use:   "edit {KEY-ID... | --all-of TENANT | --stdin}",
		Short: "Change a key's name, own limit or expiry",
		Long: `Change a key's name, its own limit or its expiry. The change takes effect on
every server within 400 ms. A value whose flag is not given stays as it is.

A key that has expired stays expired: issue another one.

A key's own limit applies in addition to the tenant's quota: a script may be
limited to 50 of the 300 requests per minute. It does not raise the quota.

` + cmdutil.ItemsHelp + "\n\n" + cmdutil.WhenHelp,
		Example: `  petstorectl key edit key_9Xb2LmQ0tR7sVw1Z --per-minute 50
  petstorectl key edit key_9Xb2LmQ0tR7sVw1Z --no-per-minute --name "nightly import"
  petstorectl key edit key_9Xb2LmQ0tR7sVw1Z --expires 90d --reason "order 18"`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.edit, err = flags.edit(cmd); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}, &o.items, cmdutil.KeyIDArg(f, nil))
	o.items.AllOfFlag(cmd, f, "every active or banned key of this `TENANT`")
	cmd.Flags().StringVar(&flags.name, "name", "", "what the key is for: `TEXT`, empty to remove it")
	cmdutil.CompleteFlag(cmd, "name")
	limitFlag(cmd, &flags.perMinute)
	cmd.Flags().BoolVar(&flags.noLimit, "no-per-minute", false, "remove the key's own limit")
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
		err = cmdutil.UsageErrorf("nothing to change: give --name, --per-minute, --no-per-minute, --expires or --no-expires").
			WithHint("see: " + cmd.CommandPath() + " --help")
	}
	return e, err
}

// edited is a key before and after the change.
type edited struct{ before, after keys.Key }

func runEdit(ctx context.Context, o *editOptions) error {
	b := batch(o.Factory, "changing keys")
	return (&cmdutil.Batch[edited]{
		Factory: b.Factory, Items: o.items, Noun: b.Noun, Doing: b.Doing, Find: b.Find, AllOf: b.AllOf, Lock: b.Lock, Subject: b.Subject,
		Do: func(ctx context.Context, db *store.DB, by audit.By, id string) (e edited, err error) {
			e.before, e.after, err = o.Keys(db).Edit(ctx, by, id, o.edit)
			return e, err
		},
		Notice: func(e edited) cmdutil.Notice {
			n := cmdutil.Notice{Item: "key " + e.after.ID + " of tenant " + e.after.TenantName, Text: fmt.Sprintf("changed key %s of tenant %s: %s", e.after.ID, e.after.TenantName, differences(e.before, e.after))}
			if e.before == e.after {
				n = cmdutil.Notice{Item: "key " + e.after.ID, Text: fmt.Sprintf("key %s already has these values", e.after.ID), Unchanged: true}
			}
			if warning := limitWarning(ctx, o.Factory, e.after); warning != "" {
				n.More = []string{warning}
			}
			return n
		},
		View: func(now time.Time) output.View[edited] {
			return output.Map(View(now), func(e edited) keys.Key { return e.after })
		},
	}).Run(ctx)
}

// differences is what an edit changed, in words.
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
	switch {
	case before.ExpiresAt.Equal(after.ExpiresAt):
	case after.ExpiresAt.IsZero():
		changes = append(changes, "never expires")
	default:
		changes = append(changes, "expires at "+output.Text(after.ExpiresAt))
	}
	return strings.Join(changes, ", ")
}
