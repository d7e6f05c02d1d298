// Package why holds the command that finds what a word names, and explains what the platform
// decides about it.
package why

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
)

type options struct {
	*cmdutil.Factory

	word      string
	all, list bool
}

// brief is the number of rows of each list without --all.
const brief = 10

// NewCmd returns the command why.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:     "why WORD|-",
		Aliases: []string{"find"},
		Short:   "Find what a ticket names, and explain why it is refused",
		Long: `Find a tenant, a key or a request by anything that a ticket may name. Explain
what the platform decides about it, and what to do. The verdict comes first,
then what it is based on.

WORD is a tenant's name, its number (2 or '#2'), billing reference or e-mail
address; the ID, the last four characters or the name of a key; the
X-Request-Id of a response with a status of 400 or more; or the number of a ban
or an audit entry. The beginning of a name, a billing reference or an address
will do; if nothing begins so, three characters of a tenant's name or address.
With - a whole key, or a text with one in it, is read from stdin, so that it
does not appear in the shell history. If several things match as well, they are
listed, the most certain first.

A tenant shows all its keys that matter, the refused ones first. A key shows its
state, limits, usage and bans.

Failed requests are stored for a day: of each key and hour the latest 50 that
were refused with 429, and the latest 50 others. Long runs of failures keep only
the first and the last request. Requests without a valid key are sampled.

The usage is the recorded one, at most a second behind. The counters of the
current minute are in Redis or in the servers, not in the database.`,
		Example: `  petstorectl why acme
  petstorectl why billing@acme.example
  petstorectl why x7Qd
  petstorectl why d4s6v8qk3m5t0b2n7c1g -o json | jq -r .code
  petstorectl why - < found-in-a-log.txt`,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}, cmdutil.Arg{Name: "WORD or -", Value: &o.word, Complete: cmdutil.TenantNames(f), Check: cmdutil.CheckKeyID})
	cmd.Flags().BoolVar(&o.all, "all", false, "print everything that is known")
	cmd.Flags().BoolVar(&o.list, "list", false, "list all that matches, and explain nothing")
	return cmd
}

func run(ctx context.Context, o *options) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	hits, err := o.find(ctx, db)
	if err != nil {
		return err
	}
	hit := hits[0]
	if o.list || !certain(hits) || hit.Tenant == "" && hit.Kind != tenancy.HitRequest {
		return o.printHits(hits)
	}
	o.sayFound(hits)
	switch {
	case hit.Kind == tenancy.HitRequest:
		return o.explainRequest(ctx, db, hit.Match)
	case hit.KeyID != "":
		k, err := db.Keys.Get(ctx, hit.KeyID)
		if err != nil {
			return err
		}
		return o.explainKey(ctx, db, k)
	}
	t, err := db.Tenants.Get(ctx, hit.Tenant)
	if err != nil {
		return err
	}
	return o.explainTenant(ctx, db, t)
}

func (o *options) explainKey(ctx context.Context, db *store.DB, k keys.Key) error {
	d, err := loadKey(ctx, db, k, o.Now())
	if err != nil {
		return err
	}
	d.seen = o.word == fromStdin
	return printKey(o, d)
}

func (o *options) explainTenant(ctx context.Context, db *store.DB, t plans.Tenant) error {
	d, err := loadTenant(ctx, db, t, o.Now())
	if err != nil {
		return err
	}
	return printTenant(o, d)
}

// explainRequest explains the latest request with that ID.
func (o *options) explainRequest(ctx context.Context, db *store.DB, id string) error {
	found, err := db.FailedRequests.OfRequest(ctx, id, 2)
	if err != nil {
		return err
	}
	if len(found) == 2 {
		o.Messagef("several requests had this ID: showing the latest")
	}
	d, err := loadRequest(ctx, db, found[0], o.Now())
	if err != nil {
		return err
	}
	return printRequest(o, d)
}

func first[T any](n int, list []T) []T { return list[:min(n, len(list))] }

// shown returns the items to print: all of them, or a few.
func shown[T any](o *options, list []T) []T {
	if o.all {
		return list
	}
	return first(brief, list)
}
