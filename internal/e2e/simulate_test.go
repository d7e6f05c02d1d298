package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// TestKeysOfAStagingServer: of keys that exist the response says why, an expiry that comes is
// announced, and a simulated delay ends when the server stops: with the fast path and without. The
// address has the limit that was configured.
func TestKeysOfAStagingServer(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	tn := d.tenant(plans.Free, nil, 1)
	issued := func(expires string) string {
		return strings.TrimSpace(d.ctl("key", "issue", tn.Name, "--environment", "test", "--expires", expires).stdout)
	}
	good, later, revoked := issued("20d"), issued("40d"), issued("20d")
	d.ctl(
		"key",
		"revoke",
		"--yes",
		"--reason",
		"test",
		strings.Fields(d.ctl("key", "list", "--tenant", tn.Name, "-o", "json", "--jq",
			fmt.Sprintf(`.[] | select(.last4 == %q) | .id`, revoked[len(revoked)-4:])).stdout)[0],
	)
	for _, fastPath := range []string{"on", "off"} {
		s := d.serve(
			"PETSTORE_ENVIRONMENT=staging",
			"PETSTORE_SUPPORT_EMAIL=help@example.com",
			"PETSTORE_HTTP_FAST_PATH="+fastPath,
			"PETSTORE_ADDRESS_LIMIT=1700",
		)
		for key, want := range map[string]string{
			tn.keys[0].token: "This API key (pst_live_) is for production, and this is staging.",
			revoked:          "Z. Use another one, or ask our support (help@example.com) for a new key.",
		} {
			a := d.patient.get(s, key, "/pets")
			// A key that can't be looked up in time gets the general text.
			for tries := 1; !strings.Contains(string(a.body), want) && tries < 10; tries++ {
				a = d.patient.get(s, key, "/pets")
			}
			if a.status != 401 || a.code != "invalid_api_key" || a.integer("X-RateLimit-Limit") != 1700 ||
				!strings.Contains(string(a.body), want) {
				t.Errorf("fast path %s: %d %s, want %s", fastPath, a.status, a.body, want)
			}
		}
		conn := s.connect(t)
		responses := bufio.NewReader(conn)
		send := func(key, header string) {
			t.Helper()
			_, err := fmt.Fprintf(
				conn,
				"GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n",
				key,
				header,
			)
			assert.NoError(t, err)
		}
		receive := func(status int, expires bool) {
			t.Helper()
			res, err := http.ReadResponse(responses, nil)
			assert.NoError(t, err)
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != status || (res.Header["X-Key-Expires"] != nil) != expires {
				t.Errorf(
					"fast path %s: %s, %v, X-Key-Expires %q: %s",
					fastPath,
					res.Status,
					err,
					res.Header["X-Key-Expires"],
					body,
				)
			}
		}
		// The first request of a connection is never fast.
		for range 2 {
			send(good, "")
			receive(200, true)
			send(later, "")
			receive(200, false)
			send(good, "X-Petstore-Simulate: daily_quota_exceeded\r\n")
			receive(429, true)
		}
		send(good, "X-Petstore-Simulate: unavailable;delay=30s\r\n")
		sent := time.Now()
		time.Sleep(200 * time.Millisecond) // the delayed requests are under way
		d.beginStop(s)
		receive(503, true)
		if code := s.Wait(); code != 0 || time.Since(sent) >= 30*time.Second {
			t.Errorf(
				"fast path %s: exit code %d, %v after a request with a delay of 30 s",
				fastPath,
				code,
				time.Since(sent),
			)
		}
		assert.Equal(t, s.Logged(`"simulated":true`), 3, "fast path", fastPath, "lines of simulated errors")
	}
}
