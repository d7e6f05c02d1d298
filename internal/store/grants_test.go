package store_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

const rolesPage = "../../docs/roles.md"

// grantsQuery lists every right in the database that somebody other than the owner has, PUBLIC
// among them. A right on some columns of a table names them, or the columns that it leaves out if
// those are fewer.
const grantsQuery = `
with granted as (
  select 'table' as kind, c.relname::text as object, a.grantee, a.privilege_type as privilege, null::text as columns
  from pg_class c, aclexplode(coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char",
      c.relowner))) a
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'v', 'm', 'p', 'f', 'S') and a.grantee <>
      c.relowner
  union all
  select 'table', c.relname, a.grantee, a.privilege_type,
         case when 2 * count(*) > max(n.columns)
           then 'all but ' || (select string_agg(o.attname, ', ' order by o.attnum) from pg_attribute o
                               where o.attrelid = c.oid and o.attnum > 0 and not o.attisdropped and o.attnum <> all
                                   (array_agg(t.attnum)))
           else string_agg(t.attname, ', ' order by t.attnum) end
  from pg_class c
  join pg_attribute t on t.attrelid = c.oid and not t.attisdropped,
  aclexplode(t.attacl) a,
  lateral (select count(*) as columns from pg_attribute o where o.attrelid = c.oid and o.attnum > 0 and not
      o.attisdropped) n
  where c.relnamespace = 'public'::regnamespace
  group by c.oid, c.relname, a.grantee, a.privilege_type
  union all
  select 'function', p.proname || case when p.prosecdef then '' else ' (invoker)' end, a.grantee, a.privilege_type, null
  from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
  where p.pronamespace = 'public'::regnamespace and a.grantee <> p.proowner
  union all
  select 'schema', n.nspname, a.grantee, a.privilege_type, null
  from pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
  where n.nspname = 'public' and a.grantee <> n.nspowner
  union all
  select 'database', 'the database', a.grantee, a.privilege_type, null
  from pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
  where d.datname = current_database() and a.grantee <> d.datdba
)
select kind, object, coalesce(r.rolname, 'PUBLIC') as role,
       string_agg(lower(privilege) || coalesce(' (' || columns || ')', ''), ', '
                  order by array_position(array['SELECT', 'INSERT', 'UPDATE', 'DELETE'], privilege)) as rights
from granted g left join pg_roles r on r.oid = g.grantee
group by 1, 2, 3`

type grant struct{ Kind, Object, Role, Rights string }

// TestGrantsAreThoseOfThePage compares every right that the database grants with the table of
// docs/roles.md. With UPDATE_DOCS it writes the table.
func TestGrantsAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	db := storetest.NewServer(t)
	var grants []grant
	assert.NoError(t, fixture.Connect(t, db.URL).SelectContext(t.Context(), &grants, grantsQuery))
	const head = "| object | `petstore_api` | `petstore_support` | `petstore_billing` |\n|---|---|---|---|\n"
	sandbox.Page(t, rolesPage, regexp.MustCompile(regexp.QuoteMeta(head)+`(?:\|.*\n)*`), head+grantsTable(t, grants))
}

// grantsTable has a row for the objects of a kind with the same rights.
func grantsTable(t *testing.T, grants []grant) string {
	t.Helper()
	kinds, roles := []string{
		"database",
		"schema",
		"table",
		"function",
	}, []string{
		"petstore_api",
		"petstore_support",
		"petstore_billing",
	}
	rights := map[string]map[string]string{}
	for _, g := range grants {
		if !slices.Contains(roles, g.Role) {
			t.Errorf("%s has %s on the %s %s", g.Role, g.Rights, g.Kind, g.Object)
		}
		row := fmt.Sprintf("%d %s", slices.Index(kinds, g.Kind), g.Object)
		if rights[row] == nil {
			rights[row] = map[string]string{}
		}
		rights[row][g.Role] = g.Rights
	}
	var objects, cells []string
	at := map[string]int{}
	for _, row := range slices.Sorted(maps.Keys(rights)) {
		object := strings.TrimPrefix(row[2:], "the ")
		if row[0] >= '2' {
			object = "`" + object + "`"
		}
		has := ""
		for _, role := range roles {
			has += " " + cmp.Or(rights[row][role], "–") + " |"
		}
		if i, ok := at[row[:1]+has]; ok {
			objects[i] += ", " + object
			continue
		}
		at[row[:1]+has] = len(objects)
		objects, cells = append(objects, object), append(cells, has)
	}
	var b strings.Builder
	for i, object := range objects {
		fmt.Fprintf(&b, "| %s |%s\n", object, cells[i])
	}
	return b.String()
}

// TestDefinersAreSafe: a function that runs with its owner's rights finds tables where the owner
// put them, and a role may run it only if it was granted.
func TestDefinersAreSafe(t *testing.T) {
	t.Parallel()
	db := fixture.NewDatabase(t)
	var unsafe []string
	db.Rows(t, &unsafe, `select proname from pg_proc where pronamespace = 'public'::regnamespace and prosecdef
		and not coalesce(proconfig @> array['search_path=pg_catalog, public, pg_temp'], false)`)
	assert.True(t, len(unsafe) == 0, "without a search path that ends with pg_temp", unsafe)
	db.Exec(
		t,
		`create table later (n int); create sequence numbers; create function later() returns int language sql as
			'select 1'`,
	)
	var open []string
	db.Rows(t, &open, `
		select c.relname from pg_class c, aclexplode(c.relacl) a where c.relname in ('later', 'numbers') and a.grantee
			<> c.relowner
		union all
		select p.proname from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
		where p.proname = 'later' and a.grantee <> p.proowner`)
	assert.True(t, len(open) == 0, "what later migrations make is open", open)
}
