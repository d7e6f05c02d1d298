package catalog_test

import (
	"regexp"
	"strings"
	"testing"

	"petstore.example/internal/store"
	"petstore.example/internal/store/catalog"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

var foundByKey = regexp.MustCompile(
	`CTE Scan on before.*\n *Filter: .*|Join Filter: \(pets_1.xmin = before_1.version\)`,
)

// A connection keeps the plan of a statement that it prepares, until Postgres has analysed its
// tables again. So a plan that is made while they are empty must be good when they are large: every
// condition on a row is one on the index, so nothing is read in vain.
func TestPlansOfEmptyTables(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, storetest.New(t).URL, store.Options{AsAPI: true})
	for name, query := range catalog.KeyedQueries() {
		plan, err := db.Pets.GenericPlan(t.Context(), query)
		assert.NoError(t, err, name)
		text := strings.Join(plan, "\n")
		// Of animals that were found by their keys.
		rest := foundByKey.ReplaceAllString(strings.Replace(text, " Filter: ((status)::text <> $5)", "", 1), "")
		rest = strings.ReplaceAll(rest, "One-Time Filter:", "")
		if !strings.Contains(text, "Index Cond: ((tenant_id = $1) AND ") || strings.Contains(rest, "Filter:") ||
			strings.Contains(text, "Bitmap") {
			t.Errorf("%s has conditions that are not the index's:\n%s", name, text)
		}
	}
}
