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

// script is what wrk runs for a target. Without a function named request, wrk writes the request once and sends it as it is: the
// script costs nothing during the run. Only for keys that take turns there is one.
func script(t Target) string {
	var b strings.Builder
	fmt.Fprintf(&b, "wrk.method = %s\n", quote(t.method()))
	for name := range t.Header {
		fmt.Fprintf(&b, "wrk.headers[%s] = %s\n", quote(name), quote(t.Header.Get(name)))
	}
	if t.Send != nil {
		fmt.Fprintf(&b, "wrk.body = %s\n", quote(string(t.Send)))
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

// quote writes a string as Lua reads it: \ddd stands for a byte.
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
