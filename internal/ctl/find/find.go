// Package find holds the command that finds what a word names: a tenant, a key, a ban, a failed request or an audit entry.
package find

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/store"
)

type options struct {
	*cmdutil.Factory

	word string
	all  bool
}

const (
	// fromStdin as the word stands for the key on stdin.
	fromStdin = "-"
	// byKey is what such a key is found by.
	byKey = "key"
	// listed is the most matches that are listed.
	listed = store.MaxHits - 1
)

// NewCmd returns the command find.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:   "find WORD|-",
		Short: "Find a tenant by anything that a ticket may name",
		Long: `Find a tenant by anything that a ticket may name, and show on one screen its
plan and usage, its keys and bans, its last failed requests, whom to write to,
and what to do next.

WORD is a tenant's name, its number (2 or '#2'), billing reference or e-mail
address; the ID, the last four characters or the name of a key; the
X-Request-Id of a failed request; or the number of a ban or an audit entry. The
beginning of a name, a billing reference or an address will do; if nothing
begins so, three characters of a tenant's name or address. With - a whole key,
or a text with one in it, is read from stdin, so that it does not appear in the
shell history.

If several things match, they are listed, the most certain first. With -o json
it is always one object: matches has all that match, and the other members are
null or empty unless one match is certain.`,
		Example: `  petstorectl find acme
  petstorectl find x7Qd
  petstorectl find billing@acme.example
  petstorectl find - < found-in-a-log.txt`,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}, cmdutil.Arg{Name: "WORD or -", Value: &o.word, Complete: cmdutil.TenantNames(f), Check: checkWord})
	cmd.Flags().BoolVar(&o.all, "all", false, "list all that matches, even if one match is certain")
	return cmd
}

func run(ctx context.Context, o *options) error {
	hits, err := o.find(ctx)
	if err != nil {
		return err
	}
	r := &result{now: o.Now(), word: o.word, hits: hits}
	if best := mostCertain(hits); len(best) == 1 && !o.all {
		db, err := o.DB(ctx)
		if err != nil {
			return err
		}
		if err := r.load(ctx, db, best[0]); err != nil {
			return err
		}
	}
	return r.print(o.Factory)
}

func (o *options) find(ctx context.Context) ([]store.Hit, error) {
	if o.word == fromStdin {
		k, err := key.Identify(ctx, o.Factory)
		return []store.Hit{{Kind: store.HitKey, By: byKey, Match: "from stdin", TenantID: k.TenantID, Tenant: k.TenantName, KeyID: k.ID}}, err
	}
	db, err := o.DB(ctx)
	if err != nil {
		return nil, err
	}
	// A key is often shown as …x7Qd.
	word := strings.TrimLeft(strings.TrimSpace(o.word), "….*")
	if word == "" {
		return nil, cmdutil.UsageErrorf("nothing to find").WithHint("see: petstorectl find --help")
	}
	hits, err := db.Find(ctx, word)
	if err != nil || len(hits) > 0 {
		return hits, err
	}
	return nil, &cmdutil.Error{
		Code: cmdutil.ExitNotFound, Message: fmt.Sprintf("nothing has %.80q", word) + cmdutil.SuggestTenant(ctx, o.Factory, word),
		Hint: "keys are found by their last four characters or the beginning of their name;\n" +
			"failed requests are stored for a day, and of many in a row only some",
	}
}

// mostCertain returns the matches of the greatest certainty.
func mostCertain(hits []store.Hit) []store.Hit {
	n := slices.IndexFunc(hits, func(h store.Hit) bool { return h.Certainty > hits[0].Certainty })
	if n < 0 {
		n = len(hits)
	}
	return hits[:n]
}

// checkWord refuses what may be a key, or a part of one, without repeating it.
func checkWord(word string) error {
	if strings.HasPrefix(word, "pst_") {
		return cmdutil.UsageErrorf("a key is found by its last four characters").WithHint("or by all of it, on stdin: petstorectl find -")
	}
	return nil
}
