package load

import (
	"crypto/rand"
	_ "embed"
	"fmt"
	"strings"
)

var (
	//go:embed report.lua
	reportScript string
	//go:embed threads.lua
	threadsScript string
	//go:embed turns.lua
	turnsScript string
	//go:embed mixed.lua
	mixedScript string
	//go:embed ownkeys.lua
	ownKeysScript string
	//go:embed ids.lua
	idsScript string
)

// script returns the script that wrk runs for a target with so many threads. Only a script whose requests differ has a function named request: without it
// wrk formats the request once, and the script costs nothing during the run.
func script(t Target, threads int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "local threads = %d\n", threads)
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
	b.WriteString(threadsScript)
	switch {
	case t.Writes > 0:
		fmt.Fprintf(&b, "local writes, body = %d, %s\n%s", t.Writes, quote(string(t.WriteBody)), mixedScript)
	case t.OwnKeys:
		fmt.Fprintf(&b, "local run = %s\n%s", quote(rand.Text()), ownKeysScript)
	case t.IDs != nil:
		fmt.Fprintf(&b, "local first, count, n, path, body = %d, %d, %d, %s, %s\n%s",
			t.IDs.First, t.IDs.Count, number(), quote(t.path()), quote(string(t.RequestBody)), idsScript)
	case len(t.Keys) > 0:
		b.WriteString(turnsScript)
	}
	return b.String() + reportScript
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
