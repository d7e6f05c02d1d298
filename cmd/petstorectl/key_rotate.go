package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
)

type keyRotateOptions struct {
	*factory

	id       string
	rotation keys.Rotation
}

func newCmdKeyRotate(f *factory, runF func(context.Context, *keyRotateOptions) error) *cobra.Command {
	if runF == nil {
		runF = runKeyRotate
	}
	o := &keyRotateOptions{factory: f}
	var gracePeriod, expires string
	cmd := &cobra.Command{
		Use:   "rotate KEY-ID",
		Short: "Replace a key by a new one and print that once",
		Long: `Replace a key by a new one with the same name, environment, own limit and
expiry, and print it. It can't be shown again: only its digest is stored.

The old key stays valid for a grace period of 24 hours; --grace-period sets
another one, from 0 to 7 days. With --grace-period 0 the old key expires at
once: the command asks for confirmation, and scripts need --yes.`,
		Example: `  petstorectl key rotate key_9Xb2LmQ0tR7sVw1Z
  petstorectl key rotate key_9Xb2LmQ0tR7sVw1Z --grace-period 0 --reason leaked --yes -o json`,
		Args: exactArgs("KEY-ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := checkKeyID(args[0]); err != nil {
				return err
			}
			o.id = args[0]
			if o.rotation.GracePeriod, err = parseGracePeriod(gracePeriod); err != nil {
				return usageProblem("--grace-period: %v", err)
			}
			if o.rotation.ExpiresAt, err = parseNewExpiry(expires, o.now()); err != nil {
				return usageProblem("--expires: %v", err)
			}
			if o.rotation.GracePeriod == 0 {
				if err := o.needsYes("key rotate --grace-period 0"); err != nil {
					return err
				}
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.keyIDs),
	}
	cmd.Flags().StringVar(&gracePeriod, "grace-period", "24h", "how long the old key stays valid: `DURATION`,\n0 to 7d")
	cmd.Flags().StringVar(&expires, "expires", "", "`TIME` of expiry of the new key: 90d, 2027-01-01\n(UTC), RFC 3339 or never (default: unchanged)")
	completeFlag(cmd, "grace-period", "0", "1h", "24h", "7d")
	completeFlag(cmd, "expires", "never")
	return cmd
}

// parseGracePeriod reads how long an old key stays valid: a duration or 0.
func parseGracePeriod(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	length, err := parseLength(text)
	if err == nil && length > keys.MaxGracePeriod {
		err = fmt.Errorf("%q is longer than 7 days", text)
	}
	return length, err
}

// parseNewExpiry returns nil for the expiry of the old key, and the zero time for never.
func parseNewExpiry(text string, now time.Time) (*time.Time, error) {
	switch text {
	case "":
		return nil, nil
	case "never":
		return &time.Time{}, nil
	}
	at, err := parseExpiry(text, now)
	return &at, err
}

func runKeyRotate(ctx context.Context, o *keyRotateOptions) error {
	by, err := o.by()
	if err != nil {
		return err
	}
	service, err := o.keys(ctx)
	if err != nil {
		return err
	}
	if err := o.ask(ctx); err != nil {
		return err
	}
	old, next, token, err := service.Rotate(ctx, by, o.id, o.rotation)
	if err != nil {
		return o.explainRotation(ctx, err)
	}
	o.changed("rotated key %s%s of tenant %s: the new key is %s%s", old.ID, named(old), old.TenantName, next.ID, until(next.ExpiresAt))
	o.streams.say("%s", oldKeyEnd(old, o.now()))
	rotated := rotatedKey{issuedKey: issuedKey{Key: next}, old: old}
	if !o.dryRun {
		o.streams.say("copy the key now, it is not shown again:")
		rotated.text = token.Reveal()
	}
	return printRotated(o.factory, rotated)
}

// ask does so where the old key ends at once.
func (o *keyRotateOptions) ask(ctx context.Context) error {
	if o.rotation.GracePeriod > 0 {
		return nil
	}
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	k, err := db.Keys.Get(ctx, o.id)
	if err != nil {
		return o.explain(ctx, err, about{key: o.id})
	}
	if k.Status(o.now()) != keys.Active {
		return nil // It is refused without a question.
	}
	return o.confirm(ctx, fmt.Sprintf("Rotate key %s%s of tenant %s and end the old key at once?", k.ID, named(k), k.TenantName))
}

// explainRotation says what to do about a tenant's full number of keys in words of a rotation.
func (o *keyRotateOptions) explainRotation(ctx context.Context, err error) error {
	if errors.Is(err, keys.ErrTooManyKeys) {
		return &problem{
			code:    exitRefused,
			message: fmt.Sprintf("the tenant already has %d active keys, the maximum, and the old key would count until it expires", keys.MaxActive),
			hint:    "end the old key at once with --grace-period 0, or revoke another key first",
		}
	}
	return o.explain(ctx, err, about{key: o.id})
}

func oldKeyEnd(old keys.Key, now time.Time) string {
	if old.Status(now) != keys.Active {
		return "the old key is refused from now on"
	}
	return "the old key is valid until " + plain(old.ExpiresAt)
}

// rotatedKey is a new key and the one whose place it takes.
type rotatedKey struct {
	issuedKey
	old keys.Key
}

var (
	rotatedOver = view[rotatedKey]{
		{name: "replaces", value: func(k rotatedKey) any { return k.old.ID }},
		{name: "old_expires_at", value: func(k rotatedKey) any { return k.old.ExpiresAt }},
	}
	rotatedView = append(over(issuedView, func(k rotatedKey) issuedKey { return k.issuedKey }), rotatedOver...)
)

// printRotated prints the new key as printIssued does.
func printRotated(f *factory, k rotatedKey) error {
	if f.output == "json" {
		return printOne(f, rotatedView, k)
	}
	return printIssued(f, k.issuedKey)
}
