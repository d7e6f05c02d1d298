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
	// nearFor is how long a page is given without a look at the cache: a second less, since a request's clock was read when it
	// began, before it was counted. nearSlots is how many pages are near, in 8 KiB; of nearSample requests for one, one goes by the cache all
	// the same, to which it is the use of a page that makes it stay.
	nearFor    = keptFor - time.Second
	nearSlots  = 1 << nearBits
	nearBits   = 10
	nearSample = 8
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
	key     listKey
	version int64
	kept    time.Time
	// gone is true when the cache has dropped it.
	gone atomic.Bool
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
	// near are pages of the cache that were given lately, each in the slot of its key: 0.1 µs less than to ask the cache, in which
	// each use is noted. None is there that the cache has dropped.
	near [nearSlots]atomic.Pointer[keptPage]
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
	if c.ListMemory <= 0 || c.Versions == nil {
		return nil, nil
	}
	l := &listMemory{most: c.ListMemory / tenantShare, held: map[int64]int64{}, seed: maphash.MakeSeed()}
	l.pages = otter.Must(&otter.Options[listKey, *keptPage]{
		MaximumWeight:    uint64(c.ListMemory),
		Weigher:          func(_ listKey, p *keptPage) uint32 { return uint32(p.weight()) },
		ExpiryCalculator: otter.ExpiryWriting[listKey, *keptPage](keptFor),
		OnAtomicDeletion: func(e otter.DeletionEvent[listKey, *keptPage]) { l.drop(e.Value) },
	})
	return l, l.register(c.Metrics)
}

// find is get for a request that began at now: where the page is near, the cache is not asked.
func (l *listMemory) find(key *listKey, version int64, now time.Time) *listPage {
	if l == nil || version == 0 || now.Nanosecond()>>6%nearSample == 0 {
		return l.get(*key, version)
	}
	p := l.slot(key).Load()
	if p == nil || p.version != version || p.key != *key || now.Sub(p.kept) >= nearFor {
		return l.get(*key, version)
	}
	l.hits.Inc()
	return p.listPage
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
		l.bring(p)
		return p.listPage
	}
	return nil
}

// slot is where a page is near, if it is. Keys of one slot take turns.
func (l *listMemory) slot(k *listKey) *atomic.Pointer[keptPage] {
	const golden = 0x9E3779B97F4A7C15 // See plans.phase.
	hash := (uint64(k.tenant)*golden ^ uint64(k.after)) * golden
	hash = (hash ^ uint64(k.limit)<<8 ^ uint64(len(k.status))) * golden
	return &l.near[hash>>(64-nearBits)]
}

// bring puts a page of the cache near, unless the cache has dropped it meanwhile: either here or in drop it is noticed.
func (l *listMemory) bring(p *keptPage) {
	slot := l.slot(&p.key)
	if slot.Load() == p {
		return
	}
	slot.Store(p)
	if p.gone.Load() {
		slot.CompareAndSwap(p, nil)
	}
}

// drop forgets a page that the cache has dropped.
func (l *listMemory) drop(p *keptPage) {
	p.gone.Store(true)
	l.slot(&p.key).CompareAndSwap(p, nil)
	l.release(p.key.tenant, p.weight())
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
	p := &keptPage{listPage: page, key: key, version: version, kept: time.Now()}
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
		Name: "petstore_list_memory_misses_total",
		Help: "Lists read from the database, by reason: absent (not in memory), changed since, unsure (it was not certain whether it had changed).",
	}, []string{"reason"})
	l.absent, l.changed, l.unsure = misses.WithLabelValues("absent"), misses.WithLabelValues("changed"), misses.WithLabelValues("unsure")
	l.hits = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "petstore_list_memory_hits_total", Help: "Lists answered from memory.",
	})
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_list_memory_bytes", Help: "Memory that lists hold to be answered from.",
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
