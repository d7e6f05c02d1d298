package admin_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver of sqlx.Open

	"petstore.example/internal/store/admin"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// TestTenantTablesAreAll: every table with rows of tenants, and every column of it, is exported or
// left out on purpose, and is erased or stays on purpose.
func TestTenantTablesAreAll(t *testing.T) {
	t.Parallel()
	owner := sqlx.MustOpen("postgres", storetest.New(t).URL)
	defer func() { _ = owner.Close() }()
	var columns []struct{ Table, Column string }
	err := owner.Select(&columns, `
		select c.relname as table, a.attname as column
		from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
		  and (c.relname = 'tenants' or exists (select from pg_attribute t where t.attrelid = c.oid and t.attname =
		      'tenant_id' and not t.attisdropped))
		order by 1, 2`)
	assert.NoError(t, err)
	known := admin.TenantColumns()
	for _, c := range columns {
		at := slices.IndexFunc(
			known[c.Table],
			func(k string) bool { return regexp.MustCompile(`^(\w+\()?` + c.Column + `\b`).MatchString(k) },
		)
		if at < 0 {
			t.Errorf("column %s of %s is neither exported nor omitted: see tenantTables", c.Column, c.Table)
			continue
		}
		known[c.Table] = slices.Delete(known[c.Table], at, at+1)
		if len(known[c.Table]) == 0 {
			delete(known, c.Table)
		}
	}
	assert.True(t, len(known) == 0, "not in the database", known)
}
