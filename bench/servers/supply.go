package servers

import (
	"context"
	"errors"
	"fmt"

	"github.com/lib/pq"

	"petstore.example/bench/load"
	"petstore.example/internal/keys"
)

// Supply adds what the requests of a run use up, while a server runs on the database.
type Supply struct {
	url    string
	sample *Sample
	next   int64 // the ID of the next animal
}

// The IDs of the animals of a Supply. Those of animals that requests create come after them.
const firstSupplied, lastSupplied = 1_000_000, 9_999_999

// NewSupply returns the supply of a database with that sample.
func NewSupply(url string, s *Sample) *Supply { return &Supply{url, s, firstSupplied} }

// Animals adds n available animals of Writer. A request of the target uses up one.
func (s *Supply) Animals(ctx context.Context, t *load.Target, n int) error {
	added := int64(n) + load.MoreIDs
	if s.next+added > lastSupplied {
		return errors.New("there are no more IDs for animals")
	}
	t.IDs = &load.IDs{First: s.next, Count: int64(n)}
	s.next += added
	return Exec(ctx, s.url, available(s.sample.Writer.ID, t.IDs.First, added))
}

// Keys adds n keys of Many, of which no server has seen any. A request of the target uses up one.
func (s *Supply) Keys(ctx context.Context, t *load.Target, n int) (err error) {
	t.Keys, err = insertKeys(ctx, s.url, s.sample.Many, n)
	return err
}

// available is a statement that adds n available animals.
func available(tenant, first, n int64) string {
	return fmt.Sprintf(`
		insert into pets (tenant_id, id, name, category_id, status, created_at) overriding system value
		select %d, id, 'Rex the dog', 7, 'available', now() from generate_series(%d::bigint, %d) id`, tenant, first,
		first+n-1)
}

// insertKeys adds n keys, of the tenants in turn, without triggers: a running server gets no
// notices.
func insertKeys(ctx context.Context, url string, tenants []Tenant, n int) ([]string, error) {
	texts, digests, of := make([]string, n), make(pq.ByteaArray, n), make(pq.Int64Array, n)
	for i := range texts {
		token, err := keys.NewToken(keys.Live)
		if err != nil {
			return nil, err
		}
		digest := token.Digest()
		texts[i], digests[i], of[i] = token.Reveal(), digest[:], tenants[i%len(tenants)].ID
	}
	_, err := Value[int64](ctx, url+"&session_replication_role=replica", `
		with added as (
		  insert into api_keys (id, tenant_id, name, environment, digest, last4, created_at)
		  select 'key_' || left(encode(digest, 'hex'), 16), tenant, 'bench', 'live', digest, 'last', now()
		  from unnest($1::bytea[], $2::bigint[]) k (digest, tenant) returning tenant_id
		)
		select count(*) from added`, digests, of)
	return texts, err
}
