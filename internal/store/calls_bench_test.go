package store_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"petstore.example/internal/keys"
	"petstore.example/internal/store"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
)

// The calls of the API that take one round trip to a function of Postgres.

func BenchmarkCaller(b *testing.B) {
	api := benchmarked(b)
	digest := keys.Digest(sha256.Sum256([]byte("key_0000000000000007")))
	for b.Loop() {
		if _, err := api.Keys.Caller(b.Context(), digest, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWriteUsage adds batches of 500 counts, the most that a batch has.
func BenchmarkWriteUsage(b *testing.B) {
	api := benchmarked(b)
	batch := usage.Batch{ServerID: "s"}
	for i := range 500 {
		id := fmt.Sprintf("key_%03d0000000000000", i)
		batch.Counts = append(batch.Counts, count(1, id, eleven, 1, 1))
	}
	for b.Loop() {
		batch.Number++
		if err := api.Usage.WriteUsage(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarked is a database with 1000 keys of a tenant.
func benchmarked(b *testing.B) *store.DB {
	database := storetest.New(b)
	owner, err := sqlx.ConnectContext(b.Context(), "postgres", database.URL)
	if err != nil {
		b.Fatal(err)
	}
	defer owner.Close()
	owner.MustExec(`select test_tenant('acme', 'pro')`)
	owner.MustExec(`insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select id, 1, 'live', sha256(convert_to(id, 'UTF8')), 'last', now()
		from (select 'key_' || lpad(n::text, 16, '0') as id from generate_series(1, 1000) n
		      union select 'key_' || lpad(n::text, 3, '0') || repeat('0', 13) from generate_series(0, 499) n) i`)
	owner.MustExec(`analyze`)
	return storetest.Open(b, database.APIURL, store.Options{AsAPI: true})
}
