package api

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/catalog"
)

const (
	// keptFor is how long a page is given from memory after it was read. It bounds what idle pages hold, and how late a
	// change is seen that somebody makes in the database by hand; one in 5 s costs Postgres nothing.
	keptFor = 5 * time.Second
	// tenantShare is the part of the memory that one tenant's pages may have: 1/8.
	tenantShare = 8
	// pageOverhead is about what a page takes beside its bytes: the cache's node, its key, the page itself.
	pageOverhead = 480
	// askedSlots is how many pages are remembered as asked for, in 32 KiB.
	askedSlots = 4096
)

// listKey names a page of a tenant's animals, as its links show it: a limit that was left out is left out there too.
type listKey struct {
	tenant, after int64
	status        catalog.Status
	limit         int
	limitGiven    bool
}

// keptPage is a page as it was at a version of the tenant's catalogue.
type keptPage struct {
	*listPage
	version int64
}

func (p *keptPage) weight() int64 { return int64(pageOverhead + len(p.body) + len(p.lines)) }

// listMemory keeps finished pages, so that an answer costs no look at rows: 100 µs less, of which Postgres has 40.
//
// A page is given only to a request whose decision is of the version that the page was read at, and it was read after a
// decision of that version: so nothing had changed in between (plans.Versions). Who is not certain of the version, 0,
// reads the rows.
//
// The memory is bounded, one tenant's part of it too, and a page is kept when it is asked for a second time. A nil *listMemory
// keeps nothing.
type listMemory struct {
	pages *otter.Cache[listKey, *keptPage]
	// most is what one tenant may hold, in bytes; held what each does.
	most int64
	mu   sync.Mutex
	held map[int64]int64
	// asked holds, each in its slot, the hashes of pages that were asked for.
	asked [askedSlots]atomic.Uint64
	seed  maphash.Seed

	hits, unsure, changed, absent prometheus.Counter
}

// newListMemory returns nil where nothing may be kept: without memory for it, or where nobody hears of changes.
func newListMemory(c Config) (*listMemory, error) {
	if c.ListCacheBytes <= 0 || c.Versions == nil {
		return nil, nil
	}
	l := &listMemory{most: c.ListCacheBytes / tenantShare, held: map[int64]int64{}, seed: maphash.MakeSeed()}
	l.pages = otter.Must(&otter.Options[listKey, *keptPage]{
		MaximumWeight:    uint64(c.ListCacheBytes),
		Weigher:          func(_ listKey, p *keptPage) uint32 { return uint32(p.weight()) },
		ExpiryCalculator: otter.ExpiryWriting[listKey, *keptPage](keptFor),
		OnAtomicDeletion: func(e otter.DeletionEvent[listKey, *keptPage]) { l.release(e.Key.tenant, e.Value.weight()) },
	})
	return l, l.register(c.Metrics)
}

// get returns the page as of the version, nil when it is not at hand.
func (l *listMemory) get(key listKey, version int64) *listPage {
	if l == nil {
		return nil
	}
	if version == 0 {
		l.unsure.Inc()
		return nil
	}
	p, ok := l.pages.GetIfPresent(key)
	switch {
	case !ok:
		l.absent.Inc()
	case p.version != version:
		l.changed.Inc()
	default:
		l.hits.Inc()
		return p.listPage
	}
	return nil
}

// wants reports whether a page should be kept: when it was asked for before, and not too many others since.
func (l *listMemory) wants(key listKey, version int64) bool {
	if l == nil || version == 0 {
		return false
	}
	hash := maphash.Comparable(l.seed, key)
	return l.asked[hash%askedSlots].Swap(hash) == hash
}

// keep keeps a page that was read after a decision of the version.
func (l *listMemory) keep(key listKey, version int64, page *listPage) {
	p := &keptPage{listPage: page, version: version}
	if l.reserve(key.tenant, p.weight()) {
		l.pages.Set(key, p)
	}
}

// reserve reports whether the tenant has room for that many bytes more; they are its own then until they are released.
func (l *listMemory) reserve(tenant, bytes int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[tenant]+bytes > l.most {
		return false
	}
	l.held[tenant] += bytes
	return true
}

func (l *listMemory) release(tenant, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[tenant] -= bytes; l.held[tenant] <= 0 {
		delete(l.held, tenant)
	}
	if len(l.held) == 0 {
		// A map never shrinks.
		l.held = map[int64]int64{}
	}
}

// bytes is what all pages hold.
func (l *listMemory) bytes() (sum int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.held {
		sum += n
	}
	return sum
}

func (l *listMemory) register(r prometheus.Registerer) error {
	misses := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "petstore_list_cache_misses_total",
		Help: "Lists read from the database, by reason: miss (not in the cache), stale (changed since), unversioned (the current version was not known).",
	}, []string{"reason"})
	l.absent, l.changed, l.unsure = misses.WithLabelValues("miss"), misses.WithLabelValues("stale"), misses.WithLabelValues("unversioned")
	l.hits = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "petstore_list_cache_hits_total", Help: "Lists answered from the cache.",
	})
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_list_cache_bytes", Help: "Bytes that the list cache holds.",
	}, func() float64 { return float64(l.bytes()) })
	if r == nil {
		return nil
	}
	for _, c := range []prometheus.Collector{misses, l.hits, held} {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}
