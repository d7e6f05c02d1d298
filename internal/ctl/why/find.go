package why

import (
	"context"
	"errors"
	"slices"
	"strings"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
)

// HitView shows something that the word names.
var HitView = output.View[tenancy.Hit]{
	{Name: "kind", Value: func(h tenancy.Hit) any { return string(h.Kind) }, InList: true},
	{Name: "by", Value: func(h tenancy.Hit) any { return h.By }, InList: true},
	{Name: "match", Value: func(h tenancy.Hit) any { return h.Match }, InList: true, MinWidth: output.TextWidth},
	{Name: "tenant", Value: func(h tenancy.Hit) any { return h.Tenant }, InList: true, MinWidth: output.TextWidth},
	{Name: "tenant_id", Value: func(h tenancy.Hit) any { return output.NumberOrNil(h.TenantID) }},
	{Name: "key_id", Value: func(h tenancy.Hit) any { return h.KeyID }, InList: true},
	{Name: "number", Value: func(h tenancy.Hit) any { return output.NumberOrNil(h.Number) }},
}

const (
	// fromStdin is the word that stands for the key on stdin.
	fromStdin = "-"
	// maxText bounds the text on stdin in which a key is looked for. maxEnds is the number of keys
	// that an error names by their last four characters.
	maxText = 64 << 10
	maxEnds = 5
	// listed is the maximum number of listed matches.
	listed = tenancy.MaxHits - 1
)

// find returns what the word names, the most certain first.
func (o *options) find(ctx context.Context, db *store.DB) ([]tenancy.Hit, error) {
	if o.word == fromStdin {
		k, err := o.identify(ctx, db)
		return []tenancy.Hit{
			{Kind: tenancy.HitKey, By: "id", Match: k.ID, TenantID: k.TenantID, Tenant: k.TenantName, KeyID: k.ID},
		}, err
	}
	// A key is often shown as …x7Qd.
	word := strings.TrimLeft(strings.TrimSpace(o.word), "….*")
	if word == "" {
		return nil, cmdutil.UsageErrorf("nothing to find").WithHint("see: petstorectl why --help")
	}
	hits, err := db.Find(ctx, word)
	switch {
	case err != nil || len(hits) > 0:
		return hits, err
	case strings.HasPrefix(word, "key_"):
		return nil, o.Explain(ctx, keys.ErrKeyNotFound, cmdutil.Subject{Key: word})
	}
	return nil, cmdutil.NotFoundErrorf("nothing has %.80q%s", word, cmdutil.SuggestTenant(ctx, o.Factory, word)).
		WithHint("keys are found by their last four characters or the beginning of their name;\n" +
			"failed requests are stored for a day, and of many in a row only some")
}

// identify returns the key in the text on stdin. No error repeats the text: it may hold most of a
// key.
func (o *options) identify(ctx context.Context, db *store.DB) (k keys.Key, err error) {
	text, err := o.AskSecret(ctx, "key", func(ctx context.Context) (string, error) { return o.ReadText(ctx, maxText) })
	if err != nil {
		return k, err
	}
	found := keys.FindTokens(text)
	switch len(found) {
	case 0:
		return k, cmdutil.UsageErrorf("stdin holds no API key").
			WithHint(
				"a key has 45 characters and begins with pst_live_ or pst_test_: was it copied completely?\nonly " +
					"the first 64 kB are read",
			)
	case 1:
		if k, err = o.Keys(db).Identify(ctx, found[0].Reveal()); errors.Is(err, keys.ErrKeyNotFound) {
			err = cmdutil.NotFoundErrorf("unknown key: it is well-formed, but was not issued here")
		}
		return k, o.Explain(ctx, err, cmdutil.Subject{})
	}
	var ends []string
	for i, token := range found {
		if ends = append(ends, "…"+token.Last4()); i == maxEnds {
			ends[i] = "…"
			break
		}
	}
	return k, cmdutil.UsageErrorf("stdin holds %d different API keys: %s", len(found), strings.Join(ends, ", ")).
		WithHint("give only the lines with one of them; or: petstorectl key list --last4 " + found[0].Last4())
}

// certain reports whether the first match is meant: nothing else matches as well, or the word is
// its name, number or ID. All requests with the same ID are one match.
func certain(hits []tenancy.Hit) bool {
	first := hits[0]
	named := first.Certainty == 0 && (first.By == "name" || first.By == "number" || first.By == "id")
	return named || len(hits) == 1 || hits[1].Certainty > first.Certainty
}

func (o *options) printHits(hits []tenancy.Hit) error {
	if len(hits) > listed && !o.Printer().Whole() {
		o.Messagef(
			"more than %d match, and the first are shown; give more of the name, or use the filters of: petstorectl "+
				"tenant list, petstorectl key list",
			listed,
		)
	}
	return cmdutil.PrintList(o.Factory, HitView, hits[:min(listed, len(hits))])
}

// sayFound says what was found, unless the word is its name or ID. It also says whether there are
// more matches.
func (o *options) sayFound(hits []tenancy.Hit) {
	h := hits[0]
	of := " of tenant " + h.Tenant
	switch {
	case h.Kind == tenancy.HitEntry:
		o.Messagef("entry %s: petstorectl audit show %s", h.Match, h.Match)
	case h.Kind == tenancy.HitBan:
		o.Messagef("ban %s is of key %s", h.Match, h.KeyID)
	case h.By != "id" && h.By != "number" && h.Match != h.Tenant:
		if h.Kind == tenancy.HitKey {
			of = " of key " + h.KeyID + of
		}
		o.Messagef("%s is the %s%s", h.Match, strings.ReplaceAll(h.By, "_", " "), of)
	}
	others := slices.DeleteFunc(
		slices.Clone(hits[1:]),
		func(other tenancy.Hit) bool { return other.Kind == h.Kind && other.Match == h.Match },
	)
	if len(others) > 0 {
		o.Messagef("%d less certain: petstorectl why %s --list", len(others), o.word)
	}
}
