package ctl

import (
	"database/sql"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// TestPriceListExamples runs the examples of "The price list" in docs/billing.md, on a database with two tenants and their usage.
func TestPriceListExamples(t *testing.T) {
	t.Parallel()
	d := newDocRun(t)
	d.now = time.Date(2026, 10, 5, 9, 0, 0, 0, time.UTC)
	for _, command := range []string{
		"petstorectl tenant create acme --plan pro --reason signed", "petstorectl key issue acme", "petstorectl tenant create zoo --plan pro",
	} {
		d.run(t, command)
	}
	d.now = time.Time{}
	db, err := sql.Open("postgres", d.url)
	assert.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `
		select test_usage(tenant_id, h, id, 'pro', a, r) from api_keys,
		  (values (timestamptz '2026-11-18 14:00Z', 9400, 0), ('2026-11-19 14:00Z', 8030, 12), ('2026-11-20 09:00Z', 3100, 0)) v (h, a, r)`)
	assert.NoError(t, err)
	d.file(t, "../../docs/billing.md", "## The price list")
}
