package store_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// meteredDB is a database as the API's servers use it, and as support looks at what they wrote.
type meteredDB struct {
	database
	api, staff *store.DB
	keys       *atomic.Int64
}

func newMeteredDB(t *testing.T) meteredDB {
	t.Helper()
	db := newDatabase(t)
	api, staff := storetest.Open(
		t,
		db.APIURL,
		store.Options{AsAPI: true},
	), storetest.Open(
		t,
		db.SupportURL,
		store.Options{},
	)
	return meteredDB{db, api, staff, &atomic.Int64{}}
}

// With longTimeout a busy machine is no outage; shortTimeout is for calls that get no answer.
const longTimeout, shortTimeout = time.Minute, 3 * time.Second

type meteredKey struct {
	ID       string
	TenantID int64
	Tenant   string
}

// key adds a key to the n-th tenant, which is on Pro, and the tenant if it is not there.
func (db meteredDB) key(t *testing.T, n int) meteredKey {
	t.Helper()
	k := meteredKey{Tenant: fmt.Sprintf("tenant-%d", n)}
	db.exec(t, `select test_tenant($1, 'pro') where not exists (select from tenants where name = $1)`, k.Tenant)
	err := db.owner.QueryRowContext(t.Context(), `
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select $1::text, id, 'live', sha256(convert_to($1::text, 'UTF8')), 'last', now() from tenants where name = $2
		returning id, tenant_id`, fmt.Sprintf("key_%016d", db.keys.Add(1)), k.Tenant).Scan(&k.ID, &k.TenantID)
	assert.NoError(t, err)
	return k
}

func (db meteredDB) lastUsed(t *testing.T, keyID string) time.Time {
	t.Helper()
	var at []time.Time
	db.rows(t, &at, `select last_used_at from api_keys where id = $1 and last_used_at is not null`, keyID)
	if len(at) != 1 {
		t.Fatalf("key %s was not used", keyID)
	}
	return at[0]
}

// listen returns a function that waits for the next notice to servers.
func (db meteredDB) listen(t *testing.T) func(*testing.T) string {
	t.Helper()
	l := pq.NewListener(db.URL, time.Second, time.Second, nil)
	t.Cleanup(func() { _ = l.Close() })
	assert.NoError(t, l.Listen("petstore_callers"))
	return func(t *testing.T) string {
		t.Helper()
		select {
		case n := <-l.Notify:
			if n == nil {
				t.Fatal("the listener lost its connection")
			}
			return n.Extra
		case <-time.After(longTimeout):
			t.Fatal("no notice came")
			return ""
		}
	}
}
