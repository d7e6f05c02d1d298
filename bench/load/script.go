package load

import (
	_ "embed"
	"fmt"
	"strings"
)

var (
	//go:embed report.lua
	reportScript string
	//go:embed turns.lua
	turnsScript string
)

// script returns the script that wrk runs for a target. Only a script for several keys has a function named request: without it
// wrk formats the request once, and the script costs nothing during the run.
func script(t Target) string {
	var b strings.Builder
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
		b.WriteString("}\n" + turnsScript)
	}
	return b.String() + reportScript
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
