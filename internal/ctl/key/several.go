package key

import (
	"context"
	"fmt"
	"slices"
	"time"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

// batch is a change of keys.
func batch(f *cmdutil.Factory, doing string) *cmdutil.Batch[keys.Key] {
	return &cmdutil.Batch[keys.Key]{
		Factory: f, Item: cmdutil.KeyIDArg(f, nil), Noun: "keys", Doing: doing, Find: cmdutil.FindKey, Lock: cmdutil.LockKeys, AllOf: ValidKeys(f),
		Subject: func(id string) cmdutil.Subject { return cmdutil.Subject{Key: id} }, View: View,
	}
}

// ValidKeys returns the AllOf of a Batch that changes the keys of a tenant that are valid, banned ones too.
func ValidKeys(f *cmdutil.Factory) func(context.Context, *store.DB, string) ([]string, error) {
	return func(ctx context.Context, db *store.DB, tenant string) (ids []string, err error) {
		for k, err := range db.Keys.List(ctx, store.KeyFilter{Tenant: tenant}, f.Now()) {
			if err != nil {
				return nil, err
			}
			if k.Valid(f.Now()) {
				ids = append(ids, k.ID)
			}
		}
		return ids, nil
	}
}

// question asks about a change that ends keys, and shows when each was used last and how often since the last hour began.
func question(ctx context.Context, f *cmdutil.Factory, db *store.DB, ids []string, verb string) (q cmdutil.Question, err error) {
	found := map[string]keys.Key{}
	var tenants []string
	for _, id := range ids {
		k, err := db.Keys.Get(ctx, id)
		if err != nil {
			return q, err
		}
		found[id] = k
		if !slices.Contains(tenants, k.TenantName) {
			tenants = append(tenants, k.TenantName)
		}
	}
	now := f.Now()
	since := now.Add(-time.Hour).Truncate(time.Hour)
	recent, err := db.Usage.KeysSince(ctx, ids, since)
	if err != nil {
		return q, err
	}
	today, err := db.Usage.TenantsSince(ctx, tenants, now.Truncate(24*time.Hour))
	if err != nil {
		return q, err
	}
	q.Facts = cmdutil.Facts(ids, func(id string) string {
		used := "never used"
		if at := found[id].LastUsedAt; !at.IsZero() {
			used = "last used at " + output.Text(at)
		}
		return fmt.Sprintf("%s%s of tenant %s: %s, %s requests since %s UTC", id, NameSuffix(found[id]), found[id].TenantName,
			used, output.Thousands(recent[id]), since.Format("15:04"))
	})
	q.Word = cmdutil.WordFor(today)
	q.Text = fmt.Sprintf("%s these %d keys?", verb, len(ids))
	if k := found[ids[0]]; len(ids) == 1 {
		q.Text = fmt.Sprintf("%s key %s%s of tenant %s?", verb, k.ID, NameSuffix(k), k.TenantName)
	}
	return q, nil
}
