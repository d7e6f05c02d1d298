package store_test

import (
	"slices"
	"testing"

	"petstore.example/internal/test/assert"
)

// TestCatalogueCanBeDistributed: the tables that docs/scaling.md distributes by tenant have what Citus demands of such tables, except for the
// foreign keys that it names: the tenant in every unique index and in every foreign key between them, and no triggers per statement.
func TestCatalogueCanBeDistributed(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	tables := `'pets'::regclass, 'orders'::regclass, 'idempotency_keys'::regclass`
	for what, query := range map[string]string{
		"unique indexes without the tenant": `
			select indexrelid::regclass::text from pg_index i
			join pg_attribute a on a.attrelid = i.indrelid and a.attname = 'tenant_id'
			where i.indrelid in (` + tables + `) and i.indisunique and not a.attnum = any(i.indkey)`,
		"triggers per statement": `
			select tgname::text from pg_trigger where tgrelid in (` + tables + `) and not tgisinternal and tgtype & 1 = 0`,
		"columns of the tenant of another type": `
			select attrelid::regclass::text from pg_attribute
			where attrelid in (` + tables + `) and attname = 'tenant_id' and (atttypid <> 'bigint'::regtype or not attnotnull)`,
		"foreign keys to them from other tables": `
			select conname::text from pg_constraint
			where contype = 'f' and confrelid in (` + tables + `) and conrelid not in (` + tables + `)`,
		"foreign keys between them without the tenant": `
			select conname::text from pg_constraint c
			where contype = 'f' and confrelid in (` + tables + `) and not exists (
			  select from unnest(c.conkey, c.confkey) k (of, to_)
			  join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.of and a.attname = 'tenant_id'
			  join pg_attribute b on b.attrelid = c.confrelid and b.attnum = k.to_ and b.attname = 'tenant_id')`,
	} {
		var found []string
		assert.NoError(t, db.owner.SelectContext(t.Context(), &found, query), what)
		assert.True(t, len(found) == 0, what, found)
	}
	var dropped []string
	err := db.owner.SelectContext(t.Context(), &dropped, `
		select conname::text from pg_constraint where contype = 'f' and conrelid in (`+tables+`) and confrelid not in (`+tables+`)`)
	slices.Sort(dropped)
	assert.Result(t, dropped, err, []string{"idempotency_keys_tenant_id_fkey", "pets_tenant_id_fkey"}, "foreign keys to drop")
}
