package distributed

import (
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// TestIntentOfAnotherTerm: a write shares no intent of another term, because Redis may have lost it
// since.
func TestIntentOfAnotherTerm(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := newIntents(func() time.Time { return now })
	s.add(intent{term: 1, tenantID: 7, left: now, writes: 1})
	assert.True(t, s.share(2, 7, 0, 1) == nil, "term 2 shares an intent of term 1")
	assert.True(t, s.share(1, 7, 0, 1) != nil, "term 1 does not share its intent")
	now = now.Add(joinFor)
	assert.True(t, s.share(1, 7, 0, 1) == nil, "an intent is shared that is too old")
}
