package alerts_test

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/freeport"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// The outage of a fresh start: of 240 requests the last 159 fail between two scrapes.
const freshPassed, freshFailed = 81, 159

// TestFailuresOfAFreshServerAreSeen: a server is scraped once at its start, and most of its first
// requests fail before the next scrape. The rules see all of them, and if it lasts the alert fires.
func TestFailuresOfAFreshServerAreSeen(t *testing.T) {
	t.Parallel()
	f := newDeployment(t)
	addr, before := f.addrs[0], scrape(t, f.servers[0].Admin)
	client := &http.Client{}
	defer client.CloseIdleConnections()
	token := f.token
	for range freshPassed {
		assert.Equal(t, post(t, client, addr, token), http.StatusCreated)
	}
	f.postgres.set(true)
	for range freshFailed {
		assert.Equal(t, post(t, client, addr, token), http.StatusServiceUnavailable)
		assert.Equal(t, post(t, client, addr, ""), http.StatusUnauthorized, "a stranger")
	}
	after := scrape(t, f.servers[0].Admin)
	f.postgres.set(false)
	seen(t, before, after, "petstore:http_errors:increase1h", "petstore:http_errors:ratio5m",
		"PetstoreErrorBudgetBurnsFast",
		"66.25% of requests end in 5xx: the month's error budget lasts for hours")
}

// post creates an animal and returns the status.
func post(t *testing.T, client *http.Client, addr, token string) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/v1/pets",
		strings.NewReader(`{"name":"Rex","categoryId":7}`))
	assert.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := client.Do(req)
	assert.NoError(t, err)
	assert.NoError(t, res.Body.Close())
	return res.StatusCode
}

// TestFailuresOfAFreshEdgeAreSeen is the same of nginx, from its log by mtail.
func TestFailuresOfAFreshEdgeAreSeen(t *testing.T) {
	t.Parallel()
	logged := filepath.Join(t.TempDir(), "access.log")
	assert.NoError(t, os.WriteFile(logged, nil, 0o600))
	program, err := filepath.Abs(root + "deploy/prometheus/edge.mtail")
	assert.NoError(t, err)
	addr := freeport.Address(t)
	ip, port, _ := net.SplitHostPort(addr)
	programs.Start(t, sandbox.Command(t, "mtail", "--progs", program, "--logs", logged,
		"--address", ip, "--port", port)).Chatty = true
	wait.Until(t, "mtail", func() bool { return reached(addr) })
	before := scrape(t, addr)
	line := func(status int, servers string) string {
		return fmt.Sprintf(`{"status":%d,"servers":"127.0.0.1:1","server_statuses":"%s"}`+"\n", status, servers)
	}
	text := strings.Repeat(line(201, "201"), freshPassed) + strings.Repeat(line(503, "502, 502"), freshFailed) +
		strings.Repeat(line(401, "401"), 500) + strings.Repeat(line(503, ""), 500) // strangers, and limit_conn
	assert.NoError(t, os.WriteFile(logged, []byte(text), 0o600))
	var after map[string]string
	wait.Until(t, "mtail reads the log", func() bool {
		after = scrape(t, addr)
		return after[`edge_requests_total{from="limit",prog="edge.mtail",status="503"}`] == "500"
	}, &after)
	assert.Equal(t, after[`edge_objective_failures_total{prog="edge.mtail"}`], fmt.Sprint(freshFailed))
	seen(t, before, after, "petstore:edge_errors:increase1h", "petstore:edge_errors:ratio5m", "PetstoreEdgeErrors",
		"66.25% of requests end in a 5xx of nginx: no server answers them")
}

var counted = regexp.MustCompile(`(?m)^((?:petstore_http|petstore_objective|edge)_\w+_total(?:\{.*\})?) (\d+)$`)

// scrape returns the series that count requests, each with its value.
func scrape(t *testing.T, addr string) map[string]string {
	t.Helper()
	res, err := http.Get("http://" + addr + "/metrics")
	assert.NoError(t, err)
	defer res.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	var text strings.Builder
	assert.NoError(t, res.Write(&text))
	all := map[string]string{}
	for _, found := range counted.FindAllStringSubmatch(text.String(), -1) {
		all[found[1]] = found[2]
	}
	return all
}

// seen asks promtool what the rules make of two scrapes, 15 seconds from one to the other: what is
// not in the first one begins with the second. Then it lasts: each scrape has as many more.
func seen(t *testing.T, before, after map[string]string, increase, ratio, alert, summary string) {
	t.Helper()
	var series strings.Builder
	for _, name := range slices.Sorted(maps.Keys(after)) {
		first := before[name]
		if first == "" {
			first = "_"
		}
		fmt.Fprintf(
			&series,
			"      - series: '%s'\n        values: %s %s+%sx20\n",
			name,
			first,
			after[name],
			after[name],
		)
	}
	rules, err := filepath.Abs(root + "deploy/prometheus/alerts.yml")
	assert.NoError(t, err)
	test := fmt.Sprintf(`rule_files: [%s]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
%s    promql_expr_test:
      - {expr: '%s >= bool %d', eval_time: 15s, exp_samples: [{labels: '{}', value: 1}]}
      - {expr: '%s > bool 0', eval_time: 15s, exp_samples: [{labels: '{}', value: 1}]}
    alert_rule_test:
      - {eval_time: 15s, alertname: %[6]s, exp_alerts: []}
      - eval_time: 4m
        alertname: %[6]s
        exp_alerts:
          - exp_labels: {severity: critical}
            exp_annotations: {summary: "%[7]s", runbook: docs/running.md#%[8]s}
`, rules, series.String(), increase, freshFailed, ratio, alert, summary, strings.ToLower(alert))
	path := filepath.Join(t.TempDir(), "fresh.yml")
	assert.NoError(t, os.WriteFile(path, []byte(test), 0o600))
	if out, ok := promtool(t, ".", "", "test", "rules", path); !ok {
		t.Errorf("promtool: %s\n%s", out, series.String())
		return
	}
	t.Logf("%s >= %d, %s > 0, %s fires", increase, freshFailed, ratio, alert)
}
