package api

import (
	"fmt"
	"net/http/httptest"
	"net/netip"
	"testing"

	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

// sendUnknown sends a well-formed key that nobody has.
func (w *fixture) sendUnknown(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	token, err := keys.NewToken(keys.Live)
	assert.NoError(t, err)
	return w.do(w.request("GET", path, "", "Authorization", "Bearer "+token.Reveal()))
}

// TestUnknownKeysOfAnAddressOverItsLimit: they are refused without a look-up. Callers that are
// known are served.
func TestUnknownKeysOfAnAddressOverItsLimit(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addresses.limit = 3
	for i, want := range []int{401, 401, 401, 429, 429} {
		rec := w.sendUnknown(t, "/v1/pets")
		if remain := header(rec, "X-RateLimit-Remaining"); rec.Code != want || remain != fmt.Sprint(max(0, 2-i)) {
			t.Errorf("request %d: %d, %s remain; want %d", i, rec.Code, remain, want)
		}
		if (rec.Code == 429) != (header(rec, "Retry-After") == "60") {
			t.Errorf("request %d: Retry-After %q", i, header(rec, "Retry-After"))
		}
	}
	for _, path := range []string{"/nowhere", "/docs/errors"} {
		assert.Equal(t, w.sendUnknown(t, path).Code, 429, path)
	}
	assert.Equal(t, w.directory.lookUps, 3, "look-ups for a limit of 3")
	assert.Equal(t, w.do(w.request("GET", "/v1/pets", "")).Code, 200, "a known caller at the same address")
}

// TestUncachedCallerCountsForItsTenant: the address is charged for a look-up, and gets it back for
// a valid key.
func TestUncachedCallerCountsForItsTenant(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.directory.uncache(t, w.key)
	for range 2 {
		rec := w.do(w.request("GET", "/v1/pets", ""))
		if rec.Code != 200 || header(rec, "X-RateLimit-Limit") != "60" {
			t.Errorf("%d %v", rec.Code, numbers(rec))
		}
	}
	if used := w.addresses.used[netip.MustParseAddr("192.0.2.1")]; used != 0 || w.directory.lookUps != 1 {
		t.Errorf("%d requests count for the address, %d look-ups; want 0 and 1", used, w.directory.lookUps)
	}
}

// TestFailedLookUpCountsForTheAddress: otherwise a flood that keeps the look-ups busy would never
// reach its limit.
func TestFailedLookUpCountsForTheAddress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addresses.limit = 3
	w.directory.fail(fmt.Errorf("look up: %w", keys.ErrUnavailable))
	for i, want := range []int{503, 503, 503, 429} {
		rec := w.sendUnknown(t, "/v1/pets")
		if rec.Code != want || header(rec, "Retry-After") == "" {
			t.Errorf("request %d: %d, Retry-After %q; want %d", i, rec.Code, header(rec, "Retry-After"), want)
		}
	}
	assert.Equal(t, w.sendUnknown(t, "/docs/errors").Code, 429, "a page")
}
