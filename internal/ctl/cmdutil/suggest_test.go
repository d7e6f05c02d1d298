package cmdutil

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

func TestClosest(t *testing.T) {
	t.Parallel()
	known := []string{"list", "show", "issue", "identify", "revoke", "acme", "acme-staging", "demo"}
	for name, want := range map[string]string{
		"lst": "list", "dmeo": "demo", "emo": "demo", "isue": "issue", "sisue": "issue", "REVOKE": "revoke",
		"acmee": "acme", "iden": "identify",
		"x": "", "": "", "rotat": "", "entirely-else": "", "acme-stagign": "acme-staging",
		"acme-production": "acme", "acme-staging-and-more": "acme-staging",
	} {
		assert.Equal(t, closest(name, known), want, name)
	}
}

// TestSuggestAmongMany: names that begin alike are looked at, however many there are before them.
func TestSuggestAmongMany(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 3 * suggestNames {
		names = append(names, fmt.Sprintf("customer-%06d\tpro", i))
	}
	names = append(names, "zebra-foods\tpro")
	list := func(_ context.Context, prefix string, limit int) (found []string, err error) {
		for _, n := range names {
			if len(found) < limit && strings.HasPrefix(n, prefix) {
				found = append(found, n)
			}
		}
		return found, nil
	}
	for name, want := range map[string]string{
		"zebra-food": `; did you mean "zebra-foods"?`, "customer-00017x": `; did you mean "customer-000170"?`,
		"kustomer-000017": `; did you mean "customer-000017"?`, "xylophone": "",
	} {
		assert.Equal(t, suggest(t.Context(), name, list), want, name)
	}
}
