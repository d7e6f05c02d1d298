package api

import (
	"strings"
	"testing"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/wire"
)

// TestQueriesOverOneConnection: each answer is that of its own query, whatever came before on the connection.
func TestQueriesOverOneConnection(t *testing.T) {
	t.Parallel()
	w, _, _ := newMemoryWorld(struct{ testing.TB }{t}, 1<<20)
	for range 5 {
		w.addPet(t, "available")
		w.addPet(t, "sold")
	}
	w.directory.change(t, w.key, func(c *keys.Caller) { c.Tenant = &plans.Tenant{ID: 1, Plan: plans.Enterprise, Quota: noLimit} })
	c := &wire.Conn{}
	for range 3 {
		for _, query := range []string{
			"", "?limit=2", "?limit=2", "?limit=3", "?limit=2&status=sold", "?limit=0", "?limit=0", "?limit=2&colour=red", "?limit=2",
			"?limit=2&cursor=0000000000000002", "?limit=20", "", "?limit=2&limit=2", "?%zz", "?status=sold",
		} {
			fresh := &wire.Conn{}
			want, wantHead := w.over(fresh, w.request("GET", "/v1/pets"+query, "", "Authorization", "Bearer "+w.key, "X-Request-Id", "same"))
			got, head := w.over(c, w.request("GET", "/v1/pets"+query, "", "Authorization", "Bearer "+w.key, "X-Request-Id", "same"))
			if got.Code != want.Code || got.Body.String() != want.Body.String() || links(head) != links(wantHead) {
				t.Errorf("%s: %d %s %s\nwant %d %s %s", query, got.Code, got.Body, head, want.Code, want.Body, wantHead)
			}
		}
	}
	if k := c.Kept.(*kept); len(k.petsRaw) > maxQuery {
		t.Errorf("the connection holds a query of %d bytes", len(k.petsRaw))
	}
}

// links are the lines behind those that every answer has.
func links(head string) string {
	_, lines, _ := strings.Cut(head, "Cache-Control")
	return lines
}
