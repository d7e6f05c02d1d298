package load

import (
	"crypto/rand"
	"embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed *.lua
var scripts embed.FS

// lua returns an embedded script.
func lua(name string) string {
	text, _ := scripts.ReadFile(name + ".lua") // The file is embedded.
	return string(text)
}

// script returns the script that wrk runs for a target. It has a function named request only if its
// requests differ. Otherwise wrk formats the request once, and the script costs nothing during the
// run. Go's string literals in ASCII are also Lua's.
func script(t Target, o Options) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("local threads, rate = %d, %f", o.Threads, o.Rate)
	line("wrk.method = %s", strconv.QuoteToASCII(t.Method))
	for name := range t.Header {
		line("wrk.headers[%s] = %s", strconv.QuoteToASCII(name), strconv.QuoteToASCII(t.Header.Get(name)))
	}
	if t.RequestBody != nil {
		line("wrk.body = %s", strconv.QuoteToASCII(string(t.RequestBody)))
	}
	line("local credentials = {")
	for _, key := range t.Keys {
		line("  %s,", strconv.QuoteToASCII(bearer(key)))
	}
	line("}")
	b.WriteString(lua("threads"))
	if o.Rate > 0 {
		b.WriteString(lua("rate"))
	}
	switch {
	case t.CustomerKeys || t.IDs != nil:
		ids := t.IDs
		if ids == nil {
			ids = &IDs{Count: 1}
		}
		line("local first, count, n, path, body = %d, %d, %d, %s, %s",
			ids.First, ids.Count, number(), strconv.QuoteToASCII(t.path()), strconv.QuoteToASCII(string(t.RequestBody)))
		if ids.Owners != nil {
			line("local owners = {")
			for _, key := range ids.Owners {
				line("%d,", key+1) // Lua counts from 1.
			}
			line("}")
		}
		if t.CustomerKeys {
			line("local run = %s", strconv.QuoteToASCII(rand.Text()))
		}
		b.WriteString(lua("filled"))
	case len(t.Keys) > 0:
		line("local random, percent, post = %t, %d, %s", t.Random, t.Writes, strconv.QuoteToASCII(string(t.WriteBody)))
		b.WriteString(lua("formatted"))
	}
	return b.String() + lua("report")
}

// path returns the URL's path and query, with {id} unchanged.
func (t Target) path() string {
	_, rest, _ := strings.Cut(t.URL, "://")
	_, path, _ := strings.Cut(rest, "/")
	return "/" + path
}
