package contract_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"petstore.example/internal/contract"
)

func BenchmarkCheck(b *testing.B) {
	x := contract.Exchange{
		Request: httptest.NewRequestWithContext(b.Context(), "GET", "/v1/pets?limit=3", nil), Status: 200, Header: http.Header{},
		Body: []byte(`[{"id":1,"name":"Rex","categoryId":7,"status":"available"}]`),
	}
	for line := range strings.SplitSeq(strings.Trim(found, "|"), "|") {
		name, value, _ := strings.Cut(line, ": ")
		x.Header.Add(name, value)
	}
	d := document(b)
	for b.Loop() {
		if err := d.Check(x); err != nil {
			b.Fatal(err)
		}
	}
}
