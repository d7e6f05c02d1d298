package diagnose

import (
	"strings"
	"testing"

	"petstore.example/docs"
	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox" // the environment of the tests
	"petstore.example/internal/usage"
)

// TestEveryCodeIsExplained: docs/errors.md, which a test of internal/api compares with the codes, is understood whole.
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

func TestEveryReasonIsExplained(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{
		usage.OtherScheme, usage.SeveralHeaders, usage.Malformed, usage.OtherEnvironment, usage.UnknownKey,
		string(keys.Revoked), string(keys.Expired), string(keys.TenantSuspended),
		usage.DatabaseDown, usage.LimitsUndecided, usage.UsageUnrecorded, usage.BodiesFull, usage.TimedOut, usage.ClientGone, usage.Uncounted,
	} {
		assert.True(t, Reasons[reason] != "", reason, "is not explained")
	}
}
