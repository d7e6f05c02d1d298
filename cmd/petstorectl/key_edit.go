package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
)

type keyEditOptions struct {
	*factory

	id   string
	edit keys.Edit
}

func newCmdKeyEdit(f *factory, runF func(context.Context, *keyEditOptions) error) *cobra.Command {
	if runF == nil {
		runF = runKeyEdit
	}
	o := &keyEditOptions{factory: f}
	var flags keyEditFlags
	cmd := &cobra.Command{
		Use:   "edit KEY-ID",
		Short: "Change a key's name or its own limit",
		Long: `Change a key's name or its own limit. The change takes effect on every server
within 100 ms. Values without a flag stay as they are.

A key's own limit applies in addition to the tenant's quota: a script may be
limited to 50 of the 300 requests per minute. It does not raise the quota.`,
		Example: `  petstorectl key edit key_9Xb2LmQ0tR7sVw1Z --per-minute 50
  petstorectl key edit key_9Xb2LmQ0tR7sVw1Z --no-per-minute --name "nightly import"`,
		Args: exactArgs("KEY-ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := checkKeyID(args[0]); err != nil {
				return err
			}
			o.id = args[0]
			if o.edit, err = flags.resolve(cmd); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.keyIDs),
	}
	cmd.Flags().StringVar(&flags.name, "name", "", "what the key is for: `TEXT`, empty to remove it")
	addKeyLimitFlag(cmd, &flags.perMinute)
	cmd.Flags().BoolVar(&flags.none, "no-per-minute", false, "remove the key's own limit")
	completeFlag(cmd, "name")
	return cmd
}

// keyEditFlags are the flags that say what to change.
type keyEditFlags struct {
	name      string
	perMinute int64
	none      bool
}

func (f keyEditFlags) resolve(cmd *cobra.Command) (e keys.Edit, err error) {
	limited := cmd.Flags().Changed("per-minute")
	switch {
	case limited && f.none:
		return e, usageProblem("--per-minute and --no-per-minute can't be used together")
	case limited:
		e.PerMinute = &f.perMinute
		err = checkKeyLimit(cmd, f.perMinute)
	case f.none:
		e.PerMinute = new(int64)
	}
	if cmd.Flags().Changed("name") {
		e.Name = &f.name
	}
	if e == (keys.Edit{}) {
		err = usageProblem("nothing to change: give --name, --per-minute or --no-per-minute").withHint("see: " + cmd.CommandPath() + " --help")
	}
	return e, err
}

func runKeyEdit(ctx context.Context, o *keyEditOptions) error {
	by, err := o.by()
	if err != nil {
		return err
	}
	service, err := o.keys(ctx)
	if err != nil {
		return err
	}
	before, after, err := service.Edit(ctx, by, o.id, o.edit)
	if err != nil {
		return o.explain(ctx, err, about{key: o.id})
	}
	if before == after {
		o.streams.say("key %s already has these values: nothing was changed", after.ID)
	} else {
		o.changed("changed key %s of tenant %s: %s", after.ID, after.TenantName, differences(before, after))
	}
	o.warnOwnLimit(ctx, after)
	return printChanged(o.factory, keyView(o.now()), after)
}

// differences says what an edit made of a key.
func differences(before, after keys.Key) string {
	var said []string
	if before.Name != after.Name {
		if after.Name == "" {
			said = append(said, "no name")
		} else {
			said = append(said, "name "+cleanCell(after.Name))
		}
	}
	if before.PerMinute != after.PerMinute {
		said = append(said, ownLimit(after))
	}
	return strings.Join(said, ", ")
}
