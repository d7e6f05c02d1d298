package store_test

import (
	"fmt"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

// Row-level security holds for all that tenants own, even where a filter was forgotten: without a
// tenant no row is seen, and with one no other's is seen, changed or added.
func TestRowLevelSecurityOfEveryTable(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	for _, tenant := range []int64{s.A.ID, s.B.ID} {
		_, _, err := fixture.Once(
			t.Context(),
			s.Idempotency,
			tenant,
			fixture.Adding(fixture.Request("k", "Rex"), "Rex"),
		)
		assert.NoError(t, err)
		pet := s.AllPets(t, tenant)[0]
		_, err = s.Orders.PlaceOrder(t.Context(), tenant, catalog.NewOrder{PetID: pet.ID, Quantity: 1})
		assert.NoError(t, err)
	}
	api := fixture.Connect(t, s.APIURL)
	api.SetMaxOpenConns(1) // so that each query meets what the last one left behind

	for table, insert := range map[string]string{
		"pets": `insert into pets (tenant_id, name, category_id, status, created_at) values ($1, 'x', 1, 'sold',
			now())`,
		"orders": `insert into orders (tenant_id, pet_id, quantity, status, created_at)
			values ($1, (select max(pet_id) from orders), 1, 'delivered', now())`,
		"idempotency_keys": `insert into idempotency_keys
			values ($1, 'POST', '/v1/pets', 'stolen', sha256(''), 201, '', '', now(), now())`,
	} {
		within := func(tenant any, fn func(tx *sqlx.Tx)) {
			t.Helper()
			tx := api.MustBegin()
			defer func() { _ = tx.Rollback() }()
			if tenant != nil {
				tx.MustExec(`select set_config('petstore.tenant_id', $1, true)`, fmt.Sprint(tenant))
			}
			fn(tx)
		}
		seen := func(tx *sqlx.Tx) (tenants []int64) {
			t.Helper()
			assert.NoError(t, tx.Select(&tenants, `select tenant_id from `+table))
			return tenants
		}
		for _, tenant := range []int64{s.A.ID, s.B.ID} {
			within(tenant, func(tx *sqlx.Tx) {
				if got := seen(tx); len(got) != 1 || got[0] != tenant {
					t.Errorf("%s: tenant %d sees the rows of %v", table, tenant, got)
				}
			})
			within(nil, func(tx *sqlx.Tx) {
				got := seen(tx)
				assert.Equal(t, len(got), 0, table, "without a tenant the rows of", got, "are seen")
			})
		}
		within(s.A.ID, func(tx *sqlx.Tx) {
			changed := tx.MustExec(`update `+table+` set status = status where tenant_id = $1`, s.B.ID)
			n, err := changed.RowsAffected()
			assert.Result(t, n, err, 0, table, "rows of another tenant are changed")
			_, err = tx.Exec(insert, s.B.ID)
			if pq.As(err, pqerror.InsufficientPrivilege) == nil {
				t.Errorf("%s: a row for another tenant: %v, want refusal", table, err)
			}
		})
	}
}

// What tenants own names them first in every key and index, and has row-level security even for the
// tables' owner.
func TestTenantTablesAreAlike(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	var open []string
	s.Rows(t, &open, `select relname from pg_class
		where relname in ('pets', 'orders', 'idempotency_keys') and not (relrowsecurity and relforcerowsecurity)`)
	assert.True(t, len(open) == 0, "without row-level security", open)
	var otherwise []string
	s.Rows(t, &otherwise, `select i.indexrelid::regclass::text from pg_index i
		join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
		where i.indrelid in ('pets'::regclass, 'orders'::regclass, 'idempotency_keys'::regclass) and a.attname <>
			'tenant_id'`)
	assert.True(t, len(otherwise) == 0, "indexes that do not begin with the tenant", otherwise)
}
