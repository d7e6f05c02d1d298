package api

import (
	"strings"
	"testing"

	"petstore.example/internal/test/contract"
	"petstore.example/internal/test/sandbox"
)

// TestLongBodyGetsItsAnswer: a client that sends all of a body before it reads gets the response even if the body is far too long.
// Python's http.client is one, and so are most libraries of Python. The last request expects 100 Continue, and gets it.
func TestLongBodyGetsItsAnswer(t *testing.T) {
	t.Parallel()
	const program = `
import http.client, sys
long = b" " * (8 << 20)
good = {"Authorization": "Bearer " + sys.argv[2], "Content-Type": "application/json"}
waits = {**good, "Expect": "100-continue"}
for headers, body in (good, long), (good, iter([long])), ({}, long), ({}, iter([long])), (waits, iter([long])):
    c = http.client.HTTPConnection(sys.argv[1], timeout=60)
    c.request("POST", "/v1/pets", body, headers)
    r = c.getresponse()
    print(r.status, r.getheader("Connection"), r.read())
    c.close()
`
	for mode := range contract.Modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			at := contract.Listen(t, server(w), mode)
			out, err := sandbox.Command(t, "python3", "-c", program, at.Host, w.key).Output()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if err != nil || len(lines) != 5 {
				t.Fatalf("%v: %s", err, out)
			}
			for i, want := range []string{"413 close", "413 close", "401 close", "401 close", "413 close"} {
				if !strings.HasPrefix(lines[i], want) || !strings.Contains(lines[i], `"code":"`) {
					t.Errorf("response %d is %s, want %s", i, lines[i], want)
				}
			}
		})
	}
}
