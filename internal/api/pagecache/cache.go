// Package pagecache keeps finished pages of lists, so that a response needs no rows.
//
// A page is stored under the stamp of a decision that was made before its rows were read. It is
// returned only to a request whose decision has the same stamp, so nothing changed in between
// (package freshness).
//
// A page that is not the last stays valid when animals are added: these have higher IDs, so they
// are on later pages. For that, New needs stamps that do not change then.
//
// A page keeps its compressed form once a client has asked for it. Requests for the same page at
// the same time share a read (Read).
//
// The cache is bounded, and so is each tenant's part of it. A page is stored when it is requested
// for the second time. A Cache is safe for concurrent use.
package pagecache

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/freshness"
)

const (
	// lifetime bounds how long an idle page takes memory, and how late a manual change in the
	// database becomes visible. Reading a page every 5 s costs Postgres nothing.
	lifetime = 5 * time.Second
	// tenantShare is the part of the cache that one tenant's pages may use: 1/8.
	tenantShare = 8
	// pageOverhead is about how many bytes a page takes besides its own: for the cache's node, the
	// key and the Page.
	pageOverhead = 480
	// requestedSlots is how many pages are remembered as requested. This takes 32 KiB.
	requestedSlots = 4096
)

// Key identifies a page of a tenant's list by its query. LimitGiven is false if the query has no
// limit; then the page's links have none either.
type Key struct {
	Tenant, After int64
	// Filters is the text of the list's filters.
	Filters    string
	Limit      int
	LimitGiven bool
}

// Page is a finished response, except for the headers that differ between requests. It is
// read-only.
type Page struct {
	Body []byte
	// Tag, Links and Next are the headers ETag, Link and X-Next-Cursor. Next is empty on the last
	// page.
	Tag, Links, Next string
	// OneItem says that Tag is the ETag of the only item, for If-Match. Such a page is not
	// compressed, because that would make the tag weak.
	OneItem bool
	// Gzip is the compressed body, and GzipTag its ETag. Both are empty until a client asks for
	// them (WithGzip).
	Gzip    []byte
	GzipTag string
}

// cachedPage is a page with the stamp of its catalogue.
type cachedPage struct {
	*Page
	// existing is the stamp of the animals that existed then, 0 if the page changes when animals
	// are added.
	stamp, existing freshness.Stamp
}

func (p *cachedPage) weight() int64 {
	return int64(pageOverhead + len(p.Body) + len(p.Tag) + len(p.Links) + len(p.Next) + len(p.Gzip) + len(p.GzipTag))
}

// Cache holds pages. A nil *Cache holds none.
type Cache struct {
	pages  *otter.Cache[Key, *cachedPage]
	stamps Stamps
	// maxPerTenant and held are in bytes. held has the bytes of each tenant.
	maxPerTenant int64
	mu           sync.Mutex
	held         map[int64]int64
	// requested holds hashes of requested pages. The hash determines the slot.
	requested [requestedSlots]atomic.Uint64
	seed      maphash.Seed

	// reads are the reads under way.
	reads Reads[Key, *Page]

	hits, unversioned, stale, miss, shared prometheus.Counter
}

// Clock is the clock by which pages expire.
type Clock = otter.Clock

// Stamps returns the stamps of a tenant's catalogue now, as freshness.Memory.Stamps does.
type Stamps func(tenantID int64) (current, existing freshness.Stamp)

// New returns a cache of at most maxBytes, and registers its metrics unless r is nil. stamps is nil
// if only decisions have stamps. If clock is nil, the machine's clock is used.
func New(maxBytes int64, stamps Stamps, clock Clock, r prometheus.Registerer) (*Cache, error) {
	c := &Cache{
		stamps:       stamps,
		maxPerTenant: maxBytes / tenantShare,
		held:         map[int64]int64{},
		seed:         maphash.MakeSeed(),
		reads:        Reads[Key, *Page]{Wait: maxWait},
	}
	c.pages = otter.Must(&otter.Options[Key, *cachedPage]{
		MaximumWeight:    uint64(maxBytes),
		Weigher:          func(_ Key, p *cachedPage) uint32 { return uint32(p.weight()) },
		ExpiryCalculator: otter.ExpiryWriting[Key, *cachedPage](lifetime),
		Clock:            clock,
		OnAtomicDeletion: func(e otter.DeletionEvent[Key, *cachedPage]) { c.release(e.Key.Tenant, e.Value.weight()) },
	})
	return c, c.register(r, maxBytes)
}

// Get returns the page that is current after a decision with the stamp, or nil if the cache does
// not hold it.
func (c *Cache) Get(key Key, stamp freshness.Stamp) *Page {
	if c == nil {
		return nil
	}
	p, ok := c.pages.GetIfPresent(key)
	switch {
	case ok && (p.stamp == stamp || c.stays(key.Tenant, p)):
		c.hits.Inc()
		return p.Page
	case stamp == 0:
		c.unversioned.Inc()
	case !ok:
		c.miss.Inc()
	default:
		c.stale.Inc()
	}
	return nil
}

// stays reports whether nothing has happened since the page was read, except that animals were
// added to later pages.
func (c *Cache) stays(tenant int64, p *cachedPage) bool {
	if p.existing == 0 {
		return false
	}
	_, existing := c.stamps(tenant)
	return existing == p.existing
}

// Put stores a page that was read after a decision with the stamp. It ignores a page that is
// requested for the first time, or whose last request is forgotten because of later ones for other
// pages.
func (c *Cache) Put(key Key, stamp freshness.Stamp, p *Page) {
	if c == nil || stamp == 0 {
		return
	}
	hash := maphash.Comparable(c.seed, key)
	if c.requested[hash%requestedSlots].Swap(hash) == hash {
		c.store(key, &cachedPage{p, stamp, c.existing(key.Tenant, stamp, p)})
	}
}

// Replace replaces p by another form of it, if p is still stored.
func (c *Cache) Replace(key Key, p, form *Page) {
	if c == nil {
		return
	}
	if stored, ok := c.pages.GetIfPresent(key); ok && stored.Page == p {
		c.store(key, &cachedPage{form, stored.stamp, stored.existing})
	}
}

// existing returns the stamp under which the page stays valid after animals are added, 0 for none.
// Since the decision with the stamp no animal may have been about to be added: its ID could be
// below some of the page's.
func (c *Cache) existing(tenant int64, stamp freshness.Stamp, p *Page) freshness.Stamp {
	if c.stamps == nil || p.Next == "" {
		return 0
	}
	current, existing := c.stamps(tenant)
	if current != stamp {
		return 0
	}
	return existing
}

func (c *Cache) store(key Key, p *cachedPage) {
	if c.reserve(key.Tenant, p.weight()) {
		c.pages.Set(key, p)
	}
}

// reserve takes bytes of the tenant's share, to be released later. It returns false if the share
// has no room.
func (c *Cache) reserve(tenant, bytes int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[tenant]+bytes > c.maxPerTenant {
		return false
	}
	c.held[tenant] += bytes
	return true
}

func (c *Cache) release(tenant, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[tenant] -= bytes; c.held[tenant] <= 0 {
		delete(c.held, tenant)
	}
	if len(c.held) == 0 {
		// A map never shrinks.
		c.held = map[int64]int64{}
	}
}

// size returns the bytes that all pages hold.
func (c *Cache) size() (sum int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.held {
		sum += n
	}
	return sum
}

func (c *Cache) register(r prometheus.Registerer, maxBytes int64) error {
	misses := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "petstore_list_cache_misses_total",
		Help: "Lists not served from the cache, by reason: miss (not in it), stale (changed since), unversioned " +
			"(the catalogue had no stamp).",
	}, []string{"reason"})
	c.miss, c.stale, c.unversioned = misses.WithLabelValues("miss"), misses.WithLabelValues(
		"stale",
	), misses.WithLabelValues("unversioned")
	c.hits = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "petstore_list_cache_hits_total", Help: "Lists served from the cache.",
	})
	c.shared = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "petstore_list_cache_shared_total",
		Help: "Lists not served from the cache for which another request read the database.",
	})
	size := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_list_cache_bytes", Help: "Bytes that the list cache holds.",
	}, func() float64 { return float64(c.size()) })
	most := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "petstore_list_cache_bytes_max",
		Help: "The most bytes that the list cache may hold (PETSTORE_LIST_CACHE_BYTES).",
	})
	most.Set(float64(maxBytes))
	if r == nil {
		return nil
	}
	for _, collector := range []prometheus.Collector{misses, c.hits, c.shared, size, most} {
		if err := r.Register(collector); err != nil {
			return err
		}
	}
	return nil
}
