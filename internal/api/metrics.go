package api

import (
	"net/http"
	"strconv"
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

func (m *metrics) observe(x *exchange, elapsed time.Duration) {
	method := methodName(x.Request.Method)
	m.requests.WithLabelValues(x.route.path, method, statusText(x.status()), x.plan()).Inc()
	m.duration.WithLabelValues(x.route.path, method).Observe(elapsed.Seconds())
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

// statusText writes the usual statuses without making a string.
func statusText(status int) string {
	switch status {
	case http.StatusOK:
		return "200"
	case http.StatusCreated:
		return "201"
	case http.StatusTooManyRequests:
		return "429"
	}
	return strconv.Itoa(status)
}
