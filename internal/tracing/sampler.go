package tracing

import "math/rand/v2"

// sampler decides which requests are exported.
type sampler struct {
	// ratio is the share of the requests that no parent decides on, from 0 to 1.
	ratio float64
	// parentBased lets the parent of a request that is counted in a quota decide.
	parentBased bool
}

// draw returns whether the share chose a request. Nothing that a client sent has a part in it, nor has a trace ID of its choice.
func (s sampler) draw() bool {
	return s.ratio >= 1 || s.ratio > 0 && rand.Float64() < s.ratio //nolint:gosec // Nothing secret rests on it.
}

// decides returns whether the parent of a counted request decides in place of the share.
func (s sampler) decides(p Parent) bool { return s.parentBased && p.Valid() }
