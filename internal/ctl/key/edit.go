package key

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
)

type editOptions struct {
	*cmdutil.Factory

	id   string
	edit keys.Edit
}

func newCmdEdit(f *cmdutil.Factory, runF func(context.Context, *editOptions) error) *cobra.Command {
	o := &editOptions{Factory: f}
	var flags editFlags
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "edit KEY-ID",
		Short: "Change a key's name or its own limit",
		Long: `Change a key's name or its own limit. The change takes effect on every server
within 100 ms. A value whose flag is not given stays as it is.

A key's own limit applies in addition to the tenant's quota: a script may be
limited to 50 of the 300 requests per minute. It does not raise the quota.`,
		Example: `  petstorectl key edit key_9Xb2LmQ0tR7sVw1Z --per-minute 50
  petstorectl key edit key_9Xb2LmQ0tR7sVw1Z --no-per-minute --name "nightly import"`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.edit, err = flags.edit(cmd); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}, cmdutil.KeyIDArg(f, &o.id))
	cmd.Flags().StringVar(&flags.name, "name", "", "what the key is for: `TEXT`, empty to remove it")
	cmdutil.CompleteFlag(cmd, "name")
	limitFlag(cmd, &flags.perMinute)
	cmd.Flags().BoolVar(&flags.noLimit, "no-per-minute", false, "remove the key's own limit")
	return cmd
}

// editFlags are the flags that say what to change.
type editFlags struct {
	name      string
	perMinute int64
	noLimit   bool
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
	if cmd.Flags().Changed("name") {
		e.Name = &f.name
	}
	if e == (keys.Edit{}) {
		err = cmdutil.UsageErrorf("nothing to change: give --name, --per-minute or --no-per-minute").WithHint("see: " + cmd.CommandPath() + " --help")
	}
	return e, err
}

func runEdit(ctx context.Context, o *editOptions) error {
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	before, after, err := o.Keys(db).Edit(ctx, actor, o.id, o.edit)
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Key: o.id})
	}
	if before == after {
		o.Messagef("key %s already has these values: nothing was changed", after.ID)
	} else {
		o.Changedf("changed key %s of tenant %s: %s", after.ID, after.TenantName, differences(before, after))
	}
	warnLimit(ctx, o.Factory, after)
	return cmdutil.PrintChanged(o.Factory, View(o.Now()), after)
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
	return strings.Join(changes, ", ")
}
