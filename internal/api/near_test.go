package api

import (
	"strings"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/wire"
)

// TestNearPages: a page that is near is given for its key, at its version and in its time, and is near no longer when the cache has
// dropped it.
func TestNearPages(t *testing.T) {
	t.Parallel()
	m, err := newListMemory(Config{ListMemory: 1 << 20, Versions: &versions{}})
	if err != nil {
		t.Fatal(err)
	}
	key, begun := listKey{tenant: 1, limit: 20}, at.Add(nearSample<<6-64) // not one that goes by the cache
	sampled := at
	stray := &keptPage{listPage: &listPage{body: []byte("stray")}, key: key, version: 7, kept: begun}
	m.slot(&key).Store(stray) // The cache does not know it, so what is given of it did not come from there.
	other, limit, status, after := key, key, key, key
	other.tenant, limit.limitGiven, status.status, after.after = 2, true, "sold", 1
	for name, tt := range map[string]struct {
		key     listKey
		version int64
		now     time.Time
		near    bool
	}{
		"near":                 {key, 7, begun, true},
		"a little later":       {key, 7, begun.Add(nearFor - 64), true},
		"too late":             {key, 7, begun.Add(nearFor), false},
		"an older version":     {key, 6, begun, false},
		"a newer version":      {key, 8, begun, false},
		"no version":           {key, 0, begun, false},
		"another tenant's":     {other, 7, begun, false},
		"another limit":        {limit, 7, begun, false},
		"another status":       {status, 7, begun, false},
		"another page":         {after, 7, begun, false},
		"one that is a sample": {key, 7, sampled, false},
	} {
		m.slot(&tt.key).Store(stray)
		if p := m.find(&tt.key, tt.version, tt.now); (p == stray.listPage) != tt.near || p != nil && !tt.near {
			t.Errorf("%s: given %v, want %v", name, p != nil, tt.near)
		}
	}
	m.slot(&key).Store(nil)
	m.keep(key, 7, stray.listPage)
	if m.slot(&key).Load() != nil || m.find(&key, 7, begun) != stray.listPage || m.slot(&key).Load() == nil {
		t.Error("a page of the cache that is given is not near")
	}
	kept := m.slot(&key).Load()
	m.keep(key, 8, &listPage{})
	if m.find(&key, 7, begun) != nil {
		t.Error("the page that another took the place of is near")
	}
	if p := m.find(&key, 8, begun); p == nil || m.slot(&key).Load().listPage != p {
		t.Error("the newer page is not near")
	}
	m.bring(kept)
	if m.slot(&key).Load() != nil {
		t.Error("a page comes near that the cache has dropped")
	}
	m.find(&key, 8, sampled)
	m.pages.InvalidateAll()
	if m.slot(&key).Load() != nil || m.find(&key, 8, begun) != nil || m.bytes() != 0 {
		t.Error("the cache is empty, and a page is near")
	}
}

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
