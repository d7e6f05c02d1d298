package httpfield_test

import (
	"testing"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/test/assert"
)

func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []string
		want   bool
	}{
		{[]string{"gzip"}, true},
		{[]string{"GZip"}, true},
		{[]string{"gzip, deflate, br, zstd"}, true},
		{[]string{"br;q=1.0, gzip;q=0.001"}, true},
		{[]string{"br,\tgzip ; Q=0.5 , *;q=0"}, true},
		{[]string{"br", "gzip"}, true},
		{[]string{"*"}, true},
		{[]string{"*;q=0.1"}, true},
		{[]string{"gzip;q=0.5, identity;q=0.5"}, true},
		{[]string{"identity;q=0, *"}, true},
		{[]string{"gzip;q=1.000"}, true},
		{[]string{"gzip;q=1."}, true},
		{nil, false},
		{[]string{""}, false},
		{[]string{"identity"}, false},
		{[]string{"br, deflate"}, false},
		{[]string{"gzip;q=0"}, false},
		{[]string{"gzip; q=0.000, br"}, false},
		{[]string{"gzip;q=0, *"}, false},
		{[]string{"*;q=0"}, false},
		{[]string{"identity, gzip;q=0.9"}, false},
		{[]string{"identity;q=0.5", "gzip;q=0.4"}, false},
		{[]string{"gzip;q=x"}, false},
		{[]string{"gzip;q="}, false},
		{[]string{"gzip;q=2"}, false},
		{[]string{"gzip;q=1.5"}, false},
		{[]string{"gzip;q=-1"}, false},
		{[]string{"gzip;q=0.0001"}, false},
		{[]string{"gzip;level=9"}, false},
		{[]string{"x-gzip, gzipped"}, false},
		{[]string{", ;,;q=1"}, false},
	} {
		assert.Equal(t, httpfield.AcceptsGzip(c.values), c.want, c.values)
	}
}

func TestPrefersHTML(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": true,
		"text/html;level=1;Q=0.5, application/json;q=0.4":                 true,
		"text/html; q=0.001":      true,
		"text/html":               true,
		"text/html;charset=utf-8": true,
		"text/html;q=0.5, application/json;odata=verbose": false,
		"text/html;q=0.5, */*":                            false,
		"text/html;q=1e-1":                                false, // The weights are those of Accept-Encoding.
		"text/html;q=0x1":                                 false,
		"text/html;q=0":                                   false,
		"*/*":                                             false,
		"":                                                false,
	} {
		assert.Equal(t, httpfield.PrefersHTML([]string{accept}), want, accept)
	}
}
