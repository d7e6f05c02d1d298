package pagecache

import "testing"

// TestBounds: all tenants together hold what is allowed, one of them an eighth, and no tenant evicts the pages of
// others. In the end nothing is held.
func TestBounds(t *testing.T) {
	t.Parallel()
	const maxBytes = 1 << 20
	c, err := New(maxBytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	store := func(k Key, bytes int) { c.store(k, &cachedPage{&Page{Body: make([]byte, bytes)}, 1}) }
	for tenant := range int64(4) {
		store(Key{Tenant: tenant}, 1000)
	}
	for i := range int64(10_000) {
		store(Key{Tenant: 9, After: i}, 1000)
	}
	if size := c.size(); size > maxBytes/tenantShare+4*(1000+pageOverhead) {
		t.Errorf("one tenant, and a page of each of four, hold %d bytes", size)
	}
	for tenant := range int64(4) {
		if c.Get(Key{Tenant: tenant}, 1) == nil {
			t.Errorf("tenant %d was evicted", tenant)
		}
	}
	store(Key{Tenant: 5}, maxBytes/tenantShare)
	if c.Get(Key{Tenant: 5}, 1) != nil {
		t.Error("a page is larger than one tenant's part")
	}
	for range 2 {
		for i := range int64(10_000) {
			store(Key{Tenant: 100 + i}, 1000)
		}
		c.pages.CleanUp()
		if size := c.size(); size > maxBytes {
			t.Errorf("ten thousand tenants hold %d bytes of %d", size, maxBytes)
		}
	}
	c.pages.InvalidateAll()
	if size := c.size(); size != 0 || len(c.held) != 0 {
		t.Errorf("%d bytes of %d tenants stay", size, len(c.held))
	}
}

// TestStamps: a page is stored at its second request, and returned with its stamp only.
func TestStamps(t *testing.T) {
	t.Parallel()
	c, err := New(1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	key, old, current := Key{Tenant: 1, Limit: 20}, &Page{}, &Page{}
	c.Put(key, 7, old)
	if c.Get(key, 7) != nil {
		t.Error("stored at the first request")
	}
	c.Put(key, 0, old)
	c.Put(key, 7, old)
	if c.Get(key, 7) != old || c.Get(key, 6) != nil || c.Get(key, 8) != nil || c.Get(key, 0) != nil {
		t.Error("not returned with exactly its stamp")
	}
	c.Put(key, 8, current)
	if c.Get(key, 7) != nil || c.Get(key, 8) != current {
		t.Error("not replaced by the newer page")
	}
	for _, other := range []Key{{Tenant: 2, Limit: 20}, {Tenant: 1, Limit: 20, LimitGiven: true}, {Tenant: 1, Limit: 20, Status: "sold"}, {Tenant: 1, Limit: 20, After: 1}} {
		if c.Get(other, 8) != nil {
			t.Errorf("returned for %+v", other)
		}
	}
	var none *Cache
	none.Put(key, 8, current)
	if none.Get(key, 8) != nil {
		t.Error("no cache returned a page")
	}
}
