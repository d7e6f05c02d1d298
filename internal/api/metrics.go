package api

import (
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are counted by route, never by tenant or key.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_http_requests_total",
			Help: "Requests answered, by route, method, status and plan (none without a valid key).",
		}, []string{"route", "method", "status", "plan"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "petstore_http_request_duration_seconds",
			Help:    "Time to answer a request, by route and method.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}, []string{"route", "method"}),
	}
	if r == nil {
		return m, nil
	}
	if err := r.Register(m.requests); err != nil {
		return nil, err
	}
	return m, r.Register(m.duration)
}

// routeMetrics are one route's. What was counted once is found again without its labels being hashed: 50 ns instead of
// 350. There are as many results as methods, statuses and plans that were met.
type routeMetrics struct {
	*metrics
	path    string
	mu      sync.Mutex
	results atomic.Pointer[map[result]series]
}

type result struct {
	method, plan string
	status       int
}

type series struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

func (m *metrics) route(path string) *routeMetrics {
	r := &routeMetrics{metrics: m, path: path}
	r.results.Store(&map[result]series{})
	return r
}

func (r *routeMetrics) observe(x *exchange, elapsed time.Duration) {
	o := result{methodName(x.Request.Method), x.plan(), x.status()}
	s, ok := (*r.results.Load())[o]
	if !ok {
		s = r.add(o)
	}
	s.requests.Inc()
	s.duration.Observe(elapsed.Seconds())
}

func (r *routeMetrics) add(o result) series {
	r.mu.Lock()
	defer r.mu.Unlock()
	more := maps.Clone(*r.results.Load())
	s := series{
		r.requests.WithLabelValues(r.path, o.method, strconv.Itoa(o.status), o.plan),
		r.duration.WithLabelValues(r.path, o.method),
	}
	more[o] = s
	r.results.Store(&more)
	return s
}

// methodName is "other" for what is no usual method: a client may send any word, an API key too.
func methodName(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions, http.MethodTrace, http.MethodConnect:
		return method
	}
	return "other"
}
