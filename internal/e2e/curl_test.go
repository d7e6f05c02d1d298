package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"sync/atomic"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
)

// TestCurlAfterAMonth: the function for curl of docs/clients.md sends one request when the month is
// used up, and fails with its response.
func TestCurlAfterAMonth(t *testing.T) {
	t.Parallel()
	page := programs.Read(t, "../../docs/clients.md")
	function := regexp.MustCompile("(?s)```bash\n(petstore\\(\\) \\{.*?\n\\}\n)").FindStringSubmatch(page)
	assert.Equal(t, len(function), 2, "functions")
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Retry-After", "2678400") // at the first instant of a month
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"code":"monthly_quota_exceeded","message":"Wait.","status":429}`)
	}))
	t.Cleanup(server.Close)
	cmd := sandbox.Command(t, "bash", "-c", function[1]+`petstore "$PETSTORE_URL/pets"`)
	cmd.Env = append(cmd.Env, "PETSTORE_URL="+server.URL+"/v1", "PETSTORE_API_KEY=key")
	out, err := cmd.Output()
	var exit *exec.ExitError
	assert.True(t, errors.As(err, &exit) && exit.ExitCode() == 22, err, string(out))
	assert.Contains(t, string(out), "monthly_quota_exceeded")
	assert.Equal(t, requests.Load(), 1, "requests")
}
