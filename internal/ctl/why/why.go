// Package why holds the command that explains what the platform decides about a tenant, a key or a request.
package why

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type options struct {
	*cmdutil.Factory

	subject string
	all     bool
}

const (
	// fromStdin as the subject stands for the key on stdin.
	fromStdin = "-"
	// brief is how many rows of each list are printed without --all.
	brief = 10
)

// NewCmd returns the command why.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:   "why TENANT|KEY-ID|REQUEST-ID|-",
		Short: "Explain why a tenant, a key or a request is refused",
		Long: `Explain what the platform decides about a tenant, a key or a request, and what
to do about it. The verdict comes first, then what it is based on.

TENANT shows all keys of a tenant that matter, the refused ones first. Its
e-mail address or billing reference stands for it if no other has it. KEY-ID
shows one key: its state, limits, usage and bans. REQUEST-ID is the X-Request-Id
of any response with a status of 400 or more. - reads a key, or a text with one
in it, from stdin.

Failed requests are stored for a day: of each key and hour the latest 50 that
were refused with 429, and the latest 50 others. Of many in a row only the first
and the last are stored. Of those without a valid key only some are stored.

The usage is the recorded one, at most a second behind. The counters of the
current minute are in Redis or in the servers, not in the database.`,
		Example: `  petstorectl why acme
  petstorectl why key_9Xb2LmQ0tR7sVw1Z --all
  petstorectl why d4s6v8qk3m5t0b2n7c1g -o json | jq -r .code
  petstorectl why - < found-in-a-log.txt`,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}, cmdutil.Arg{Name: "TENANT, KEY-ID, REQUEST-ID or -", Value: &o.subject, Complete: cmdutil.TenantNames(f), Check: cmdutil.CheckKeyID})
	cmd.Flags().BoolVar(&o.all, "all", false, "print everything that is known")
	return cmd
}

func run(ctx context.Context, o *options) error {
	if o.subject == fromStdin {
		k, err := key.Identify(ctx, o.Factory)
		if err != nil {
			return err
		}
		return o.explainKey(ctx, k)
	}
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	if strings.HasPrefix(o.subject, "key_") {
		k, err := db.Keys.Get(ctx, o.subject)
		if err == nil {
			return o.explainKey(ctx, k)
		}
		if !errors.Is(err, keys.ErrKeyNotFound) {
			return err
		}
		return o.explainRequest(ctx, db, err, cmdutil.Subject{Key: o.subject})
	}
	t, err := db.Tenants.Get(ctx, o.subject)
	if err == nil {
		return o.explainTenant(ctx, db, t)
	}
	if !errors.Is(err, plans.ErrTenantNotFound) {
		return err
	}
	return o.explainRequest(ctx, db, err, cmdutil.Subject{Tenant: o.subject})
}

func (o *options) explainKey(ctx context.Context, k keys.Key) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	d, err := loadKey(ctx, db, k, o.Now())
	if err != nil {
		return err
	}
	return printKey(o, d)
}

func (o *options) explainTenant(ctx context.Context, db *store.DB, t plans.Tenant) error {
	d, err := loadTenant(ctx, db, t, o.Now())
	if err != nil {
		return err
	}
	return printTenant(o, d)
}

// explainRequest explains the latest request with that ID. Without any, it returns the error that there is no tenant or key of that name.
func (o *options) explainRequest(ctx context.Context, db *store.DB, notFound error, s cmdutil.Subject) error {
	found, err := db.FailedRequests.OfRequest(ctx, o.subject, 2)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return o.explainOther(ctx, db, notFound, s)
	case len(found) == 2:
		o.Messagef("several requests had this ID: showing the latest")
	}
	d, err := loadRequest(ctx, db, found[0], o.Now())
	if err != nil {
		return err
	}
	return printRequest(o, d)
}

// explainOther explains the one tenant that has the subject as its e-mail address or billing reference. Without any, it returns the error that
// there is no tenant or key of that name.
func (o *options) explainOther(ctx context.Context, db *store.DB, notFound error, s cmdutil.Subject) error {
	hits, err := db.Find(ctx, o.subject)
	hits = slices.DeleteFunc(hits, func(h store.Hit) bool { return h.Kind != store.HitTenant || h.Certainty > 0 })
	switch {
	case err != nil:
		return err
	case len(hits) == 0:
		// Only now, because it searches all names for a similar one.
		return noRequest(o.Explain(ctx, notFound, s))
	case len(hits) > 1:
		return cmdutil.UsageErrorf("%d tenants have the %s %s", len(hits), by(hits[0]), o.subject).WithHint("see which: petstorectl find " + o.subject)
	}
	o.Messagef("%s is the %s of tenant %s", hits[0].Match, by(hits[0]), hits[0].Tenant)
	t, err := db.Tenants.Get(ctx, hits[0].Tenant)
	if err != nil {
		return err
	}
	return o.explainTenant(ctx, db, t)
}

func by(h store.Hit) string { return strings.ReplaceAll(h.By, "_", " ") }

// noRequest adds to an error that there is no such request either.
func noRequest(err error) error {
	e := (*cmdutil.Error)(nil)
	if !errors.As(err, &e) || e.Code != cmdutil.ExitNotFound {
		return err
	}
	message, suggestion, suggested := strings.Cut(e.Message, "; did you mean")
	message += ", and no failed request with this ID is stored"
	if suggested {
		message += "; did you mean" + suggestion
	}
	return &cmdutil.Error{
		Code: cmdutil.ExitNotFound, Message: message,
		Hint: "failed requests are stored for a day, and of many in a row only some;\n" +
			"if you know whose it is, use the tenant: petstorectl why TENANT",
	}
}

func first[T any](n int, list []T) []T { return list[:min(n, len(list))] }

// shown returns the items to print: all of them, or a few.
func shown[T any](o *options, list []T) []T {
	if o.all {
		return list
	}
	return first(brief, list)
}
