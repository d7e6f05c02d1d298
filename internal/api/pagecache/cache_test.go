package pagecache

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
	"time"

	"petstore.example/internal/freshness"
	"petstore.example/internal/test/assert"
)

// stopped is a clock by which no page expires.
type stopped struct{}

func (stopped) NowNano() int64                      { return 1 }
func (stopped) Tick(time.Duration) <-chan time.Time { return nil }

// TestBounds: all tenants together hold what is allowed, one of them an eighth, and no tenant
// evicts the pages of others. In the end nothing is held.
func TestBounds(t *testing.T) {
	t.Parallel()
	const maxBytes = 1 << 20
	c, err := New(maxBytes, nil, stopped{}, nil)
	assert.NoError(t, err)
	store := func(k Key, bytes int) { c.store(k, &cachedPage{&Page{Body: make([]byte, bytes)}, 1, 0}) }
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
		assert.True(t, c.Get(Key{Tenant: tenant}, 1) != nil, "tenant", tenant, "was evicted")
	}
	store(Key{Tenant: 5}, maxBytes/tenantShare)
	assert.True(t, c.Get(Key{Tenant: 5}, 1) == nil, "a page is larger than one tenant's part")
	for range 2 {
		for i := range int64(10_000) {
			store(Key{Tenant: 100 + i}, 1000)
		}
		c.pages.CleanUp()
		size := c.size()
		assert.True(t, size <= maxBytes, "ten thousand tenants hold", size, "bytes of", maxBytes)
	}
	c.pages.InvalidateAll()
	if size := c.size(); size != 0 || len(c.held) != 0 {
		t.Errorf("%d bytes of %d tenants stay", size, len(c.held))
	}
}

// TestStamps: a page is stored at its second request, and returned with its stamp only.
func TestStamps(t *testing.T) {
	t.Parallel()
	c, err := New(1<<20, nil, stopped{}, nil)
	assert.NoError(t, err)
	key, old, current := Key{Tenant: 1, Limit: 20}, &Page{}, &Page{}
	c.Put(key, 7, old)
	assert.True(t, c.Get(key, 7) == nil, "stored at the first request")
	c.Put(key, 0, old)
	c.Put(key, 7, old)
	if c.Get(key, 7) != old || c.Get(key, 6) != nil || c.Get(key, 8) != nil || c.Get(key, 0) != nil {
		t.Error("not returned with exactly its stamp")
	}
	c.Put(key, 8, current)
	if c.Get(key, 7) != nil || c.Get(key, 8) != current {
		t.Error("not replaced by the newer page")
	}
	for _, other := range []Key{{Tenant: 2, Limit: 20}, {Tenant: 1, Limit: 20, LimitGiven: true},
		{Tenant: 1, Limit: 20, Filters: "sold"}, {Tenant: 1, Limit: 20, After: 1}} {
		assert.True(t, c.Get(other, 8) == nil, "returned for", other)
	}
	var none *Cache
	none.Put(key, 8, current)
	assert.True(t, none.Get(key, 8) == nil, "no cache returned a page")
}

// TestReplace: a page that stays while animals are added keeps its compressed form, although no
// decision has a stamp meanwhile. Another page's it never gets.
func TestReplace(t *testing.T) {
	t.Parallel()
	c, err := New(1<<20, func(int64) (_, _ freshness.Stamp) { return 7, 3 }, stopped{}, nil)
	assert.NoError(t, err)
	key, page, both := Key{Tenant: 1}, &Page{Next: "next"}, &Page{Next: "next", Gzip: []byte("gzip")}
	c.Replace(key, page, both) // is not there yet
	c.Put(key, 7, page)
	c.Put(key, 7, page)
	c.Replace(key, &Page{}, both)
	assert.True(t, c.Get(key, 0) == page, "in place of another page")
	c.Replace(key, page, both)
	assert.True(t, c.Get(key, 0) == both && c.Get(key, 8) == both, "the compressed form was not kept")
}

// TestWithGzip: a page has a compressed form if it is worth it, which counts like the rest of it.
// The page without it stays as it is.
func TestWithGzip(t *testing.T) {
	t.Parallel()
	short := &Page{Body: bytes.Repeat([]byte("x"), MinGzip)}
	assert.Equal(t, short.WithGzip(), short, "a short page is compressed")
	long := &Page{Body: bytes.Repeat([]byte("x"), MinGzip+1), Tag: `"t"`}
	both := long.WithGzip()
	r, err := gzip.NewReader(bytes.NewReader(both.Gzip))
	assert.NoError(t, err)
	if content, err := io.ReadAll(r); err != nil || !bytes.Equal(content, long.Body) {
		t.Errorf("%d bytes, %v", len(content), err)
	}
	if long.Gzip != nil || both.WithGzip() != both || both.GzipTag != `W/"t"` || len(both.Gzip) >= MinGzip/4 {
		t.Errorf("%d bytes, tag %s", len(both.Gzip), both.GzipTag)
	}
	was, is := (&cachedPage{long, 1, 0}).weight(), (&cachedPage{both, 1, 0}).weight()
	assert.Equal(t, is-was, int64(len(both.Gzip)+len(both.GzipTag)), "it weighs", was, "and compressed", is)
}
