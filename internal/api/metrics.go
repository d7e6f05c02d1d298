package api

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/api/problem"
)

// metrics count requests by route and errors by code, never by tenant or key.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	failures few[errorKind, prometheus.Counter]
	// objective counts the requests that count for the objective. Both results exist from the
	// start, because Prometheus sees no increase in a series whose first value is above 0.
	objective  *prometheus.CounterVec
	ok, failed prometheus.Counter
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_http_requests_total",
			Help: "Requests by route, method, status and plan (none without a valid key).",
		}, []string{"route", "method", "status", "plan"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "petstore_http_request_duration_seconds",
			Help:    "Duration of requests in seconds, by route, method and class of status.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}, []string{"route", "method", "class"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_http_errors_total",
			Help: "Error responses by code, reason and plan. The reason of a 429 is the window that refused.",
		}, []string{"code", "reason", "plan"}),
		objective: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_objective_requests_total",
			Help: "Requests that count for the objective, by result: failed for 5xx, else ok. A 401 does not count.",
		}, []string{"result"}),
	}
	m.ok, m.failed = m.objective.WithLabelValues("ok"), m.objective.WithLabelValues("failed")
	m.failures.create = func(f errorKind) prometheus.Counter {
		return m.errors.WithLabelValues(f.code.Name, f.reason,
			f.plan)
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.errors, m.objective} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// errorKind is a kind of error response.
type errorKind struct {
	code         *problem.Code
	reason, plan string
}

// countFailed counts an error response.
func (m *metrics) countFailed(kind errorKind) { m.failures.of(kind).Inc() }

// routeMetrics are the metrics of one route.
type routeMetrics struct{ results few[result, series] }

type result struct {
	status       int
	method, plan string
}

type series struct {
	requests prometheus.Counter
	duration prometheus.Observer
	// objective is nil for a request that does not count.
	objective prometheus.Counter
}

func (m *metrics) forRoute(path string) *routeMetrics {
	r := &routeMetrics{}
	r.results.create = func(of result) series {
		return series{
			requests:  m.requests.WithLabelValues(path, of.method, strconv.Itoa(of.status), of.plan),
			duration:  m.duration.WithLabelValues(path, of.method, strconv.Itoa(of.status/100)+"xx"),
			objective: m.objectiveOf(of.status),
		}
	}
	return r
}

// objectiveOf returns nil for a status that does not count for the objective. 401 does not:
// strangers could send any number of requests without a valid key.
func (m *metrics) objectiveOf(status int) prometheus.Counter {
	switch {
	case status == http.StatusUnauthorized:
		return nil
	case status >= http.StatusInternalServerError:
		return m.failed
	}
	return m.ok
}

// observe counts a request. traceID is the ID of its exported trace, for an exemplar; "" for none.
func (r *routeMetrics) observe(method, plan string, status int, elapsed time.Duration, traceID string) {
	s := r.results.of(result{status: status, method: methodName(method), plan: plan})
	s.requests.Inc()
	if s.objective != nil {
		s.objective.Inc()
	}
	if traceID == "" {
		s.duration.Observe(elapsed.Seconds())
		return
	}
	// Every histogram of client_golang takes exemplars.
	s.duration.(prometheus.ExemplarObserver).ObserveWithExemplar(
		elapsed.Seconds(),
		prometheus.Labels{"trace_id": traceID},
	)
}

// few holds the metrics of all combinations of labels that occurred. A search among them takes 10
// ns, a lookup by labels 350 ns. They are few, because labels are never a client's text.
type few[K comparable, V any] struct {
	create func(K) V
	mu     sync.Mutex
	known  atomic.Pointer[[]known[K, V]]
}

type known[K comparable, V any] struct {
	key   K
	value V
}

func (f *few[K, V]) of(key K) V {
	if all := f.known.Load(); all != nil {
		for i := range *all {
			if (*all)[i].key == key {
				return (*all)[i].value
			}
		}
	}
	return f.add(key)
}

// add adds a key. If another request has just added the same key, that does no harm: both have the
// same metrics.
func (f *few[K, V]) add(key K) V {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []known[K, V]
	if before := f.known.Load(); before != nil {
		all = slices.Clone(*before)
	}
	all = append(all, known[K, V]{key, f.create(key)})
	f.known.Store(&all)
	return all[len(all)-1].value
}

// methodName returns "other" for an unusual method, because a client may send any word, even an API
// key.
func methodName(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions, http.MethodTrace, http.MethodConnect:
		return method
	}
	return "other"
}
