package gate

import (
	"fmt"
	"testing"
)

// TestRecentCredentials: a header is found with its own key or not at all, on whichever connection
// it came.
func TestRecentCredentials(t *testing.T) {
	t.Parallel()
	r, found := newRecentCredentials(), 0
	headers := make([]*credentialHeader, 2*recentSlots)
	for i := range headers {
		headers[i] = &credentialHeader{authorization: fmt.Sprintf("Bearer %d", i)}
		r.put(headers[i])
	}
	for _, h := range headers {
		switch r.get(h.authorization) {
		case h:
			found++
		case nil:
		default:
			t.Errorf("%q has the key of another", h.authorization)
		}
	}
	if found < recentSlots/2 {
		t.Errorf("%d of %d headers are found, with room for %d", found, len(headers), recentSlots)
	}
}
