package diagnose

import (
	"strings"
	"testing"
	"time"

	"petstore.example/docs"
	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox" // the environment of the tests
	"petstore.example/internal/usage"
)

// TestEveryCodeIsExplained: docs/errors.md, which a test of internal/api compares with the codes,
// is understood whole.
func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	page, err := docs.FS.ReadFile("errors.md")
	assert.NoError(t, err)
	table, _, _ := strings.Cut(string(page), "The HTTP layer")
	if rows := strings.Count(table, "\n| 4") + strings.Count(table, "\n| 5"); len(Docs()) != rows || rows < 20 {
		t.Errorf("%d codes are explained, the page has %d", len(Docs()), rows)
	}
	for code, doc := range Docs() {
		if len(doc.When) < 10 || len(doc.Advice) < 10 || strings.ContainsAny(doc.When+doc.Advice, "`|") {
			t.Errorf("%s: %+v", code, doc)
		}
	}
}

// TestHourOfUse: what keys used in an hour is not shown as if it were a minute's.
func TestHourOfUse(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	window := func(name string, length time.Duration) *usage.RefusingWindow {
		return &usage.RefusingWindow{
			Name:  name,
			Limit: 60,
			From:  noon,
			To:    noon.Add(length),
			Used:  []usage.UsedByKey{{Admitted: 1200}, {Admitted: 34}},
		}
	}
	const hour = "In the hour from 2026-11-20T12:00:00Z to 2026-11-20T13:00:00Z, 1,234 requests were admitted; the " +
		"minute's limit is 60. That minute's use is no longer kept."
	assert.Equal(t, HourOfUse(window("minute", time.Hour)), hour)
	assert.Equal(
		t,
		HourOfUse(window("key", 2*time.Hour)),
		strings.NewReplacer("the hour", "the two hours", "T13", "T14").Replace(hour),
	)
	for _, w := range []*usage.RefusingWindow{nil, window("minute", time.Minute), window("day", 24*time.Hour)} {
		assert.Equal(t, HourOfUse(w), "", w)
	}
}

func TestEveryReasonIsExplained(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{
		usage.OtherScheme, usage.SeveralHeaders, usage.Malformed, usage.OtherEnvironment, usage.UnknownKey,
		string(keys.Revoked), string(keys.Expired), string(keys.TenantSuspended),
		usage.DatabaseDown, usage.LimitsUndecided, usage.UsageUnrecorded, usage.BodiesFull, usage.TimedOut,
		usage.ClientGone, usage.Uncounted,
	} {
		assert.True(t, Reasons[reason] != "", reason, "is not explained")
	}
}
