package key

import (
	"context"
	"errors"
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

//nolint:funlen // help text and flags
func newCmdIssue(f *cmdutil.Factory) *cobra.Command {
	var (
		request keys.Request
		expires *time.Time
		decided cmdutil.NewKeys
	)
	c := &cmdutil.Change[Issued]{Factory: f, View: issuedColumns(f.Now()), Secret: "the key"}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (i Issued, err error) {
		if request.Tenant = c.Subject.Tenant; request.Environment == "" {
			const hint = "say it: --environment live or --environment test"
			if decided, err = f.NewKeys(ctx, db, hint); err != nil {
				return i, err
			}
			request.Environment = decided.Environment
		}
		if expires != nil {
			request.ExpiresAt = *expires
		}
		i.Key, i.token, err = f.Keys(db).Issue(ctx, by, request)
		return i, err
	}
	c.Notice = func(i Issued) string {
		id := " " + i.ID
		if f.DryRun {
			id = ""
		}
		return fmt.Sprintf("issued %s key%s to tenant %s%s", i.Environment, id, i.TenantName, validUntil(i.Key))
	}
	c.Print = func(ctx context.Context, _ *store.DB, i Issued) error {
		text := EnvironmentText(i.Environment)
		if decided.By != "" {
			text += ": decided by " + decided.By
		}
		f.Messagef("%s", text)
		sayNarrowed(ctx, f, i.Key)
		return printIssued(f, IssuedView, i)
	}
	cmd := c.Command(&cobra.Command{
		Use:     "issue TENANT",
		Aliases: []string{"create"},
		Short:   "Issue a key and print it once",
		Long: `Issue a key to a tenant and print it. It can't be shown again: only its digest
is stored.

With --scope read the key is for GET and HEAD, and with --allow for requests
from these addresses: a key that leaks from a script can then do little. With
--scope manage its holder may also issue, change and revoke the tenant's keys.

A tenant may have 10 active keys, and beside them 10 that were rotated. Without
--environment, the key is for the kind of deployment set by PETSTORE_ENVIRONMENT
or .petstore/dev.json, else for that of the live servers of the database. If
there are none, or of both kinds, --environment is required. A message says what
decided.

` + cmdutil.WhenHelp,
		Example: `  petstorectl key issue acme --name ci --expires 90d
  petstorectl key issue acme --name import --per-minute 50
  petstorectl key issue acme --name dashboard --scope read --allow 203.0.113.0/24
  petstorectl key issue acme -o json | jq -r .key`,
	}, cmdutil.TenantArg(f, &c.Subject.Tenant))
	cmdutil.StringFlag(cmd, &request.Name, "name", "what the key is for: `TEXT` of at most 100 characters")
	cmdutil.ExpiresFlag(cmd, f, &expires, "`WHEN` it expires: 90d, 2027-01-01 (default: never)")
	cmdutil.EnumFlag(
		cmd,
		&request.Environment,
		"environment",
		"",
		"`KIND` of deployment: live or test\n(default: that of the live servers)",
		keys.Live,
		keys.Test,
	)
	limitFlag(cmd, &request.PerMinute)
	accessFlags(cmd, &request.Scope, &request.Allowed)
	return cmd
}

// sayNarrowed says which limits a new key has, and which of them have no effect.
func sayNarrowed(ctx context.Context, f *cmdutil.Factory, k keys.Key) {
	if k.PerMinute > 0 {
		f.Messagef("the key is limited to %s", LimitText(k))
	}
	if text := AccessText(k); text != "" {
		f.Messagef("the key %s", text)
	}
	if text := limitWarning(ctx, f, k); text != "" {
		f.Messagef("%s", text)
	}
}

// EnvironmentText says where a key works. Nothing else shows it until a request is refused.
func EnvironmentText(e keys.Environment) string {
	if e == keys.Test {
		return "a test key works on staging deployments and petstore dev only"
	}
	return "a live key works on production deployments only"
}

func validUntil(k keys.Key) string {
	if k.ExpiresAt.IsZero() {
		return ""
	}
	return ", valid until " + output.Text(k.ExpiresAt)
}

// Issued is a new key. Only this type contains a key's plaintext, which is empty after a dry run.
type Issued struct {
	keys.Key
	token     keys.Token
	plaintext string
	// replaced is the key that a rotation replaced. ended are the keys whose grace period it ended.
	replaced keys.Key
	ended    []string
}

var plaintextColumn = output.Column[Issued]{Name: "key", Value: func(i Issued) any { return i.plaintext }}

// IssuedView shows a new key as JSON.
var IssuedView = slices.Concat(
	output.Map(View(time.Time{}).Pick("id"), keyOf),
	output.View[Issued]{plaintextColumn},
	output.Map(
		View(time.Time{}).Pick(
			"tenant",
			"name",
			"environment",
			"expires_at",
			"per_minute",
			"scope",
			"allowed_addresses",
		),
		keyOf,
	),
)

func keyOf(i Issued) keys.Key { return i.Key }

// RotatedView shows a new key and the key that it replaces as JSON.
var RotatedView = append(IssuedView[:len(IssuedView):len(IssuedView)],
	output.Column[Issued]{Name: "replaces", Value: func(i Issued) any { return i.replaced.ID }},
	output.Column[Issued]{Name: "old_expires_at", Value: func(i Issued) any { return i.replaced.ExpiresAt }},
)

// printIssued prints a new key. Only the key is printed, unless another format was asked for or a
// dry run left no key to print.
func printIssued(f *cmdutil.Factory, jsonView output.View[Issued], i Issued) error {
	if f.DryRun {
		i.ID, i.Last4 = "", "" // The real change makes another key.
	} else {
		f.Messagef("copy the key now, it is not shown again:")
		i.plaintext = i.token.Reveal()
	}
	all := issuedColumns(f.Now())
	switch p := f.Printer(); {
	case p.Columns == nil && p.Whole() && p.Format != "csv":
		return output.Item(p, jsonView, i)
	case p.Whole():
		return output.Item(p, all, i)
	case f.DryRun:
		return output.Item(p, all[1:], i)
	}
	_, err := fmt.Fprintln(f.Out, i.plaintext)
	return err
}

// issuedColumns are the plaintext and the columns of a key.
func issuedColumns(now time.Time) output.View[Issued] {
	return append(output.View[Issued]{plaintextColumn}, output.Map(View(now), keyOf)...)
}

func newCmdRotate(f *cmdutil.Factory) *cobra.Command {
	rotation := keys.Rotation{GracePeriod: 24 * time.Hour}
	c := &cmdutil.Change[Issued]{Factory: f, View: issuedColumns(f.Now()), Secret: "the key"}
	c.Question = func(ctx context.Context, db *store.DB, i Issued) (q cmdutil.Question, err error) {
		if k := i.replaced; rotation.GracePeriod == 0 {
			q, err = question(ctx, f, db, []string{k.ID}, "Rotate")
			q.Text = fmt.Sprintf(
				"Rotate key %s%s of tenant %s and expire the old key at once?",
				k.ID,
				NameSuffix(k),
				k.TenantName,
			)
		}
		return q, err
	}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (i Issued, err error) {
		var r keys.Rotated
		r, i.token, err = f.Keys(db).Rotate(ctx, by, c.Subject.Key, rotation)
		i.replaced, i.Key, i.ended = r.Old, r.New, r.Ended
		return i, err
	}
	c.Explain = func(ctx context.Context, err error) error {
		if rotated := (*keys.AlreadyRotatedError)(nil); errors.As(err, &rotated) {
			return cmdutil.RefusedErrorf("key %s was rotated already: key %s replaces it", c.Subject.Key, rotated.ID).
				WithHint("rotate that one: petstorectl key rotate " + rotated.ID)
		}
		return f.Explain(ctx, err, c.Subject)
	}
	c.Notice = func(i Issued) string {
		issued := ": the new key is " + i.ID
		if f.DryRun {
			issued = " for a new key"
		}
		return fmt.Sprintf(
			"rotated key %s%s of tenant %s%s%s",
			i.replaced.ID,
			NameSuffix(i.replaced),
			i.replaced.TenantName,
			issued,
			validUntil(i.Key),
		)
	}
	c.Print = func(ctx context.Context, db *store.DB, i Issued) error {
		sayOld(ctx, f, db, i)
		return printIssued(f, RotatedView, i)
	}
	cmd := c.Command(newRotateTexts(), cmdutil.KeyIDArg(f, &c.Subject.Key))
	cmdutil.ParsedFlag(cmd, &rotation.GracePeriod, "grace-period", "",
		"`DURATION` that the old key stays valid: 0 to 7d\n(default 24h)", parseGracePeriod, "0", "1h", "24h", "7d")
	cmdutil.ExpiresFlag(cmd, f, &rotation.ExpiresAt,
		"`WHEN` the new key expires, or never\n(default: unchanged)")
	return cmd
}

func newRotateTexts() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate KEY-ID",
		Short: "Replace a key with a new one and print it once",
		Long: `Replace a key with a new one of the same name, environment, own limit, scope,
addresses and expiry, and print it. It can't be shown again: only its digest is
stored.

The old key stays valid for a grace period of 24 hours; --grace-period sets
another one, from 0 to 7 days. At most 10 keys of a tenant are in theirs: a
further rotation ends that of the key that was rotated first. A key that has a
replacement is not rotated again, unless that was revoked.

A key that leaked must stop at once: with --grace-period 0 the old key is
refused from now on. Then the command asks for confirmation, and if the tenant
called today for its name. Scripts need --yes.

A ban of the old key holds for the new one as well, until its end.

` + cmdutil.WhenHelp,
		Example: `  petstorectl key rotate key_9Xb2LmQ0tR7sVw1Z --grace-period 0 --reason leaked
  petstorectl key rotate key_9Xb2LmQ0tR7sVw1Z
  petstorectl key rotate key_9Xb2LmQ0tR7sVw1Z --grace-period 1h --expires 90d -o json`,
	}
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

// sayOld says what happens to the old key. If that is banned, it says that the new key is banned
// too. If the bans can't be read, the new key is still printed.
func sayOld(ctx context.Context, f *cmdutil.Factory, db *store.DB, i Issued) {
	is, old := "is", i.replaced
	if f.DryRun {
		is = "would be"
	}
	if old.Valid(f.Now()) {
		f.Messagef("the old key %s valid until %s", is, output.Text(old.ExpiresAt))
	} else {
		f.Messagef("the old key %s refused from now on", is)
	}
	for _, id := range i.ended {
		f.Messagef("key %s, which was rotated before, %s refused from now on: %d may be in their grace period",
			id, is, keys.MaxInGrace)
	}
	bans, err := store.Collect(db.Bans.List(ctx, tenancy.BanFilter{KeyID: old.ID, Limit: 1}, f.Now()))
	if err == nil && len(bans) > 0 {
		f.Messagef("the new key %s banned until %s, as the old one is", is, output.Text(bans[0].EndsAt))
	}
}
