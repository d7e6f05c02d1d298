package load

import (
	"crypto/rand"
	"embed"
	"fmt"
	"strings"
)

//go:embed *.lua
var scripts embed.FS

// lua returns an embedded script.
func lua(name string) string {
	text, err := scripts.ReadFile(name + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// script returns the script that wrk runs for a target. Only a script whose requests differ has a
// function named request: without it wrk formats the request once, and the script costs nothing
// during the run.
func script(t Target, o Options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "local threads, rate = %d, %f\n", o.Threads, o.Rate)
	fmt.Fprintf(&b, "wrk.method = %s\n", quote(t.method()))
	for name := range t.Header {
		fmt.Fprintf(&b, "wrk.headers[%s] = %s\n", quote(name), quote(t.Header.Get(name)))
	}
	if t.RequestBody != nil {
		fmt.Fprintf(&b, "wrk.body = %s\n", quote(string(t.RequestBody)))
	}
	if len(t.Keys) > 0 {
		b.WriteString("local credentials = {\n")
		for _, key := range t.Keys {
			b.WriteString("  " + quote(bearer(key)) + ",\n")
		}
		b.WriteString("}\n")
	}
	b.WriteString(lua("threads"))
	if o.Rate > 0 {
		b.WriteString(lua("rate"))
	}
	switch {
	case t.Writes > 0:
		fmt.Fprintf(&b, "local writes, body = %d, %s\n%s", t.Writes, quote(string(t.WriteBody)), lua("mixed"))
	case t.OwnKeys:
		fmt.Fprintf(&b, "local run = %s\n%s", quote(rand.Text()), lua("ownkeys"))
	case t.IDs != nil:
		fmt.Fprintf(&b, "local first, count, n, path, body = %d, %d, %d, %s, %s\n%s",
			t.IDs.First, t.IDs.Count, number(), quote(t.path()), quote(string(t.RequestBody)), lua("ids"))
	case len(t.Keys) > 0:
		b.WriteString(lua("turns"))
	}
	return b.String() + lua("report")
}

// path returns the URL's path and query, with {id} as it is.
func (t Target) path() string {
	_, rest, _ := strings.Cut(t.URL, "://")
	_, path, _ := strings.Cut(rest, "/")
	return "/" + path
}

// quote returns a Lua string literal, in which \ddd is a byte.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\%03d`, c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String() + `"`
}
