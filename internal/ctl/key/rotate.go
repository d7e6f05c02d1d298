package key

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

type rotateOptions struct {
	*cmdutil.Factory

	id       string
	rotation keys.Rotation
}

func newCmdRotate(f *cmdutil.Factory, runF func(context.Context, *rotateOptions) error) *cobra.Command {
	o := &rotateOptions{Factory: f, rotation: keys.Rotation{GracePeriod: 24 * time.Hour}}
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "rotate KEY-ID",
		Short: "Replace a key with a new one and print it once",
		Long: `Replace a key with a new one of the same name, environment, own limit and
expiry, and print it. It can't be shown again: only its digest is stored.

The old key stays valid for a grace period of 24 hours; --grace-period sets
another one, from 0 to 7 days. A key that leaked must stop at once: with
--grace-period 0 the old key is refused from now on. Then the command asks for
confirmation, and if the tenant called today for its name. Scripts need --yes.

A ban of the old key holds for the new one as well, until its end.

` + cmdutil.WhenHelp,
		Example: `  petstorectl key rotate key_9Xb2LmQ0tR7sVw1Z --grace-period 0 --reason leaked
  petstorectl key rotate key_9Xb2LmQ0tR7sVw1Z
  petstorectl key rotate key_9Xb2LmQ0tR7sVw1Z --grace-period 1h --expires 90d -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runF(cmd.Context(), o)
		},
	}, cmdutil.KeyIDArg(f, &o.id))
	cmdutil.ParsedFlag(cmd, &o.rotation.GracePeriod, "grace-period", "",
		"`DURATION` that the old key stays valid: 0 to 7d\n(default 24h)", parseGracePeriod, "0", "1h", "24h", "7d")
	cmdutil.ExpiresFlag(cmd, f, &o.rotation.ExpiresAt,
		"`WHEN` the new key expires, or never\n(default: unchanged)")
	f.YesFlag(cmd)
	return cmd
}

// parseGracePeriod reads how long an old key stays valid: a duration or 0.
func parseGracePeriod(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	duration, err := cmdutil.ParseDuration(text)
	if err == nil && duration > keys.MaxGracePeriod {
		err = fmt.Errorf("%q is longer than 7 days", text)
	}
	return duration, err
}

func runRotate(ctx context.Context, o *rotateOptions) error {
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	actor.DryRun = true
	old, next, token, err := o.Keys(db).Rotate(ctx, actor, o.id, o.rotation)
	if err == nil && !o.DryRun {
		if err = o.ask(ctx, db, old); err == nil {
			actor.DryRun = false
			old, next, token, err = o.Keys(db).Rotate(ctx, actor, o.id, o.rotation)
		}
	}
	if errors.Is(err, keys.ErrTooManyKeys) { // The hint is not that of key issue.
		return &cmdutil.Error{
			Code:    cmdutil.ExitRefused,
			Message: fmt.Sprintf("the tenant already has %d active keys, the maximum, and the old key would count until it expires", keys.MaxActive),
			Hint:    "expire the old key at once with --grace-period 0, or revoke another key first",
		}
	}
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Key: o.id})
	}
	is, issued := "is", ": the new key is "+next.ID
	if o.DryRun {
		is, issued = "would be", " for a new key"
	}
	o.Changedf("rotated key %s%s of tenant %s%s%s", old.ID, NameSuffix(old), old.TenantName, issued, validUntil(next))
	if old.Valid(o.Now()) {
		o.Messagef("the old key %s valid until %s", is, output.Text(old.ExpiresAt))
	} else {
		o.Messagef("the old key %s refused from now on", is)
	}
	o.sayBanned(ctx, db, old, is)
	return printIssued(o.Factory, RotatedView, Issued{Key: next, replaced: old}, token)
}

// ask asks for confirmation if the old key ends at once.
func (o *rotateOptions) ask(ctx context.Context, db *store.DB, k keys.Key) error {
	if o.rotation.GracePeriod > 0 {
		return nil
	}
	q, err := question(ctx, o.Factory, db, []string{k.ID}, "Rotate")
	if err != nil {
		return err
	}
	q.Text = fmt.Sprintf("Rotate key %s%s of tenant %s and expire the old key at once?", k.ID, NameSuffix(k), k.TenantName)
	return cmdutil.Ask(ctx, o.Factory, q)
}

// sayBanned says that the new key is banned, if the old one is. If that can't be read, the new key is still printed.
func (o *rotateOptions) sayBanned(ctx context.Context, db *store.DB, old keys.Key, is string) {
	bans, err := store.Collect(db.Bans.List(ctx, store.BanFilter{KeyID: old.ID, Limit: 1}, o.Now()))
	if err == nil && len(bans) > 0 {
		o.Messagef("the new key %s banned until %s, as the old one is", is, output.Text(bans[0].EndsAt))
	}
}
