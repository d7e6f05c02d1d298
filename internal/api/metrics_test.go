package api

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// exemplars returns the trace IDs of all exemplars.
func exemplars(t *testing.T, from prometheus.Gatherer) (ids []string) {
	t.Helper()
	families, err := from.Gather()
	assert.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, b := range m.GetHistogram().GetBucket() {
				for _, l := range b.GetExemplar().GetLabel() {
					ids = append(ids, l.GetName()+"="+l.GetValue())
				}
			}
		}
	}
	for i, id := range ids {
		ids[i] = id[len("trace_id="):]
	}
	return ids
}

// TestErrorsAreCountedByReason: each error response is counted by its code, why, and the plan;
// durations are apart by class of status. The objective does not count 401.
func TestErrorsAreCountedByReason(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addresses.limit = 2
	objective := func() map[string]float64 {
		return samples(t, w.registry, "petstore_objective_requests_total", "result")
	}
	assert.DeepEqual(
		t,
		objective(),
		map[string]float64{"ok": 0, "failed": 0},
		"the objective, before the first request",
	)
	get := func(headers ...string) { w.do(w.request("GET", "/v1/pets", "", headers...)) }
	for range 62 {
		get()
	}
	for range 3 {
		get("Authorization", "")
	}
	w.pets.err = catalog.ErrUnavailable
	get("Authorization", "Bearer "+w.other)
	w.directory.change(t, w.key, func(c *keys.Caller) { c.Ban = &keys.Ban{StartsAt: at, EndsAt: at.Add(time.Hour)} })
	get()
	errors := map[string]float64{
		"rate_limit_exceeded minute free":                         2,
		"missing_api_key  none":                                   2,
		"rate_limit_exceeded " + string(limits.Address) + " none": 1,
		"unavailable " + usage.DatabaseDown + " pro":              1,
		"key_banned  free":                                        1,
	}
	assert.DeepEqual(
		t,
		samples(t, w.registry, "petstore_http_errors_total", "code", "reason", "plan"),
		errors,
		"errors",
	)
	classes := map[string]float64{"2xx": 60, "4xx": 6, "5xx": 1}
	assert.DeepEqual(t, samples(t, w.registry, "petstore_http_request_duration_seconds", "class"), classes, "durations")
	assert.DeepEqual(t, objective(), map[string]float64{"ok": 64, "failed": 1}, "the objective, without 401")
}

// samples are the values of a metric's counters, or the counts of its histograms, by these labels.
func samples(t *testing.T, from prometheus.Gatherer, name string, labels ...string) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	assert.NoError(t, err)
	all := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			values := map[string]string{}
			for _, l := range m.GetLabel() {
				values[l.GetName()] = l.GetValue()
			}
			var key []string
			for _, l := range labels {
				key = append(key, values[l])
			}
			all[strings.Join(key, " ")] += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}
