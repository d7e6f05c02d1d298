package api

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/contract"
)

var load = sync.OnceValues(func() (*contract.Document, error) { return contract.Load(openAPIText) })

// document is the contract, by which newFixture checks every exchange.
func document(t testing.TB) *contract.Document {
	t.Helper()
	d, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestRoutesAreTheDocuments: there is no route that the document does not name, and none that it names is missing.
func TestRoutesAreTheDocuments(t *testing.T) {
	t.Parallel()
	var served, named []string
	for _, r := range routes {
		served = append(served, r.method+" "+r.path+" "+string(r.stability))
	}
	for _, o := range document(t).Operations {
		if !o.Open || o.Stability != "" {
			named = append(named, o.Method+" "+contract.Base+o.Path+" "+o.Stability)
		}
	}
	slices.Sort(served)
	slices.Sort(named)
	if diff := cmp.Diff(named, served); diff != "" {
		t.Errorf("(-document +server):\n%s", diff)
	}
}

// TestCodesAreTheDocuments: the document names the codes that there are.
func TestCodesAreTheDocuments(t *testing.T) {
	t.Parallel()
	var defined []string
	for _, c := range codes {
		defined = append(defined, c.name)
	}
	slices.Sort(defined)
	if diff := cmp.Diff(document(t).Codes(), defined); diff != "" {
		t.Errorf("(-document +server):\n%s", diff)
	}
}
