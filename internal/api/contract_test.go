package api

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/contract"
)

var load = sync.OnceValues(func() (*contract.Document, error) { return contract.Load(openAPIText) })

// document is the contract, by which newFixture checks every exchange.
func document(t testing.TB) *contract.Document {
	t.Helper()
	d, err := load()
	assert.NoError(t, err)
	return d
}

// TestRoutesAreTheDocuments: there is no route that the document does not name, and none that it
// names is missing.
func TestRoutesAreTheDocuments(t *testing.T) {
	t.Parallel()
	var served, named []string
	for _, r := range routesOf(routes) {
		served = append(served, r.method+" "+r.path+" "+string(r.stability))
	}
	for _, o := range document(t).Operations {
		if !o.Open || o.Stability != "" {
			named = append(named, o.Method+" "+contract.Base+o.Path+" "+o.Stability)
		}
	}
	slices.Sort(served)
	slices.Sort(named)
	assert.DeepEqual(t, served, named, "-document +server")
}

// TestCodesAreTheDocuments: the document names the codes that there are.
func TestCodesAreTheDocuments(t *testing.T) {
	t.Parallel()
	var defined []string
	for _, c := range problem.Codes {
		defined = append(defined, c.Name)
	}
	slices.Sort(defined)
	assert.DeepEqual(t, defined, document(t).Codes(), "-document +server")
}

// TestCodesAreDocumented: docs/errors.md lists exactly the codes of the table, in its order.
func TestCodesAreDocumented(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/errors.md")
	assert.NoError(t, err)
	var documented, defined [][2]string
	row := regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([a-z_]+)` \\| [^|]+ \\| [^|]+ \\|$")
	for _, m := range row.FindAllStringSubmatch(string(document), -1) {
		documented = append(documented, [2]string{m[1], m[2]})
	}
	for _, c := range problem.Codes {
		defined = append(defined, [2]string{strconv.Itoa(c.Status), c.Name})
	}
	assert.DeepEqual(t, documented, defined)
}
