package alerts_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/webhooks"
)

// metric is what /metrics, or docs/metrics.md, says of a metric.
type metric struct{ Type, Labels string }

// TestMetricsAreThoseOfThePage compares the metrics of servers, one of which has a relay for mail,
// with docs/metrics.md, which has each of them, by type and labels. promtool finds nothing wrong with them.
func TestMetricsAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	f := newDeployment(t)
	f.add(append(f.env[0][:2:2], "PETSTORE_SECRETS_KEY="+webhooks.NewKey(), "PETSTORE_SMTP_URL=smtps://127.0.0.1:1",
		"PETSTORE_MAIL_FROM=notices@example.org")...)
	client := &http.Client{}
	defer client.CloseIdleConnections()
	for i := range 2 {
		f.send(client, i)   // POST
		f.send(client, i+2) // GET
	}
	f.token = ""
	f.send(client, 0) // 401
	served := map[string]metric{}
	for _, s := range f.servers {
		_, body := s.Ask("/metrics")
		if out, ok := promtool(t, "", string(body), "check", "metrics"); !ok || out != "" {
			t.Errorf("promtool check metrics: %s", out)
		}
		maps.Copy(served, readMetrics(string(body)))
	}
	_, body := f.servers[0].Ask("/metrics")
	for _, counted := range []string{
		`petstore_redis_call_duration_seconds_count{result="ok"}`,
		`petstore_database_call_duration_seconds_count{pool="requests",result="ok"}`,
		`petstore_database_call_duration_seconds_count{pool="lookups",result="ok"}`,
		`petstore_limits_mode{mode="redis"}`,
	} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(counted) + ` [1-9]`).Match(body) {
			t.Errorf("%s is not above 0", counted)
		}
	}
	assert.DeepEqual(t, served, documentedMetrics(t), "docs/metrics.md -page +servers")
}

var sample = regexp.MustCompile(`^(petstore_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$`)

// readMetrics reads the text format, without the metrics of the client library.
func readMetrics(text string) map[string]metric {
	all := map[string]metric{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "# TYPE petstore_"); ok {
			name, kind, _ := strings.Cut(rest, " ")
			all["petstore_"+name] = metric{Type: kind}
			continue
		}
		found := sample.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		var labels []string
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(found[2], -1) {
			if label[1] != "le" {
				labels = append(labels, label[1])
			}
		}
		slices.Sort(labels)
		m := all[found[1]]
		m.Labels = strings.Join(labels, " ")
		all[found[1]] = m
	}
	return all
}

var row = regexp.MustCompile("(?m)^\\| (`petstore_[^|]+) \\| (\\w+) \\| ([^|]+) \\|")

// documentedMetrics are the rows of docs/metrics.md. A row may be of several metrics.
func documentedMetrics(t *testing.T) map[string]metric {
	t.Helper()
	all := map[string]metric{}
	names := regexp.MustCompile("`(\\w+)`")
	for _, r := range row.FindAllStringSubmatch(programs.Read(t, root+"docs/metrics.md"), -1) {
		var labels []string
		for _, label := range names.FindAllStringSubmatch(r[3], -1) {
			labels = append(labels, label[1])
		}
		slices.Sort(labels)
		for _, name := range names.FindAllStringSubmatch(r[1], -1) {
			all[name[1]] = metric{r[2], strings.Join(labels, " ")}
		}
	}
	return all
}
