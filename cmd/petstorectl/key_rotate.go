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
	var keep, expires string
	cmd := &cobra.Command{
		Use:   "rotate KEY-ID",
		Short: "Make a key in the place of another and print it, once",
		Long: `Make a key in the place of another, with its name, environment, own limit and
expiry, and print it. It is shown this once: only its digest is kept.

The old key works for another 24 hours, or as long as --keep says, 0 to 7 days;
then it has expired. With --keep 0 it ends at once, so that it asks first; where
nobody can answer, give --yes.`,
		Example: `  petstorectl key rotate key_9Xb2LmQ0tR7sVw1Z
  petstorectl key rotate key_9Xb2LmQ0tR7sVw1Z --keep 0 --reason leaked --yes -o json`,
		Args: exactArgs("a KEY-ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := checkKeyID(args[0]); err != nil {
				return err
			}
			o.id = args[0]
			if o.rotation.GracePeriod, err = parseKeep(keep); err != nil {
				return usageProblem("--keep: %v", err)
			}
			if o.rotation.ExpiresAt, err = parseNewExpiry(expires, o.now()); err != nil {
				return usageProblem("--expires: %v", err)
			}
			if o.rotation.GracePeriod == 0 {
				if err := o.needsYes("key rotate --keep 0"); err != nil {
					return err
				}
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.keyIDs),
	}
	cmd.Flags().StringVar(&keep, "keep", "24h", "`LENGTH` the old key still works, 0 to 7d")
	cmd.Flags().StringVar(&expires, "expires", "", "`WHEN` the new key ends: 90d, 2027-01-01 (UTC), RFC 3339\nor never; as the old one when left out")
	completeFlag(cmd, "keep", "0", "1h", "24h", "7d")
	completeFlag(cmd, "expires", "never")
	return cmd
}

// parseKeep reads how long an old key is kept: a length of time or 0.
func parseKeep(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	length, err := parseLength(text)
	if err == nil && length > keys.MaxGracePeriod {
		err = fmt.Errorf("%q is more than 7 days", text)
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
	o.changed("rotated key %s%s of tenant %s: the new one is %s%s", old.ID, named(old), old.TenantName, next.ID, until(next.ExpiresAt))
	o.streams.say("%s", oldKeyEnd(old, o.now()))
	rotated := rotatedKey{issuedKey: issuedKey{Key: next}, old: old}
	if !o.dryRun {
		o.streams.say("this is the only time the key is shown:")
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
	k, err := db.GetKey(ctx, o.id)
	if err != nil {
		return o.explain(ctx, err, about{key: o.id})
	}
	if k.Status(o.now()) != "active" {
		return nil // It is refused without a question.
	}
	return o.confirm(ctx, fmt.Sprintf("Rotate key %s%s of tenant %s and end it at once?", k.ID, named(k), k.TenantName))
}

// explainRotation says what to do about a tenant's full number of keys in words of a rotation.
func (o *keyRotateOptions) explainRotation(ctx context.Context, err error) error {
	if errors.Is(err, keys.ErrTooManyKeys) {
		return &problem{
			code:    exitRefused,
			message: fmt.Sprintf("the tenant has %d active keys, the most it may have, and the old one would count too", keys.MaxActive),
			hint:    "end the old key at once with --keep 0, or revoke another first",
		}
	}
	return o.explain(ctx, err, about{key: o.id})
}

func oldKeyEnd(old keys.Key, now time.Time) string {
	if old.Status(now) != "active" {
		return "the old key is refused from now on"
	}
	return "the old key works until " + plain(old.ExpiresAt)
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
