package alerts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/freeport"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// factor is by how much durations are shorter than in deploy/prometheus: a minute is two seconds. A
// scrape still has half a second, which is enough on a busy machine.
const factor = 30

// shortestLag takes the place of the age of unrecorded usage, since usage is written every half
// second in any case. Floors of 100 failures are 5.
const shortestLag = "petstore_usage_unrecorded_age_seconds > 2"

// shortened returns a file of deploy/prometheus with its durations divided by factor.
func shortened(t *testing.T, name string) string {
	t.Helper()
	text := programs.Read(t, root+"deploy/prometheus/"+name)
	units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	text = regexp.MustCompile(
		`(for: |interval: |\[|:)(\d+)([smhd])\b`,
	).ReplaceAllStringFunc(
		text,
		func(found string) string {
			unit := found[len(found)-1:]
			n := strings.LastIndexAny(found, " [:") + 1
			count, err := strconv.Atoi(found[n : len(found)-1])
			assert.NoError(t, err)
			return fmt.Sprintf("%s%dms", found[:n], (time.Duration(count) * units[unit] / factor).Milliseconds())
		},
	)
	return strings.NewReplacer(
		"petstore_usage_unrecorded_age_seconds > 30",
		shortestLag,
		"> 100\n",
		"> 5\n",
		"> 100)",
		"> 5)",
	).Replace(text)
}

// prometheus is Debian's, which scrapes servers by the shortened configuration.
type prometheus struct {
	t    *testing.T
	addr string
}

// targets is an entry of targets.yml.
type targets struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// newPrometheus asks the blackbox exporter at that address for the probes, if there are any.
func newPrometheus(t *testing.T, all []targets, blackbox string, probes ...string) *prometheus {
	t.Helper()
	dir := t.TempDir()
	list, err := json.Marshal(all)
	assert.NoError(t, err)
	asked, err := json.Marshal([]targets{{Targets: probes}})
	assert.NoError(t, err)
	for name, text := range map[string]string{
		"prometheus.yml": strings.Replace(shortened(t, "prometheus.yml"), "127.0.0.1:9115", blackbox, 1),
		"alerts.yml":     shortened(t, "alerts.yml"), "targets.yml": string(list), "probes.yml": string(asked),
	} {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	p := &prometheus{t: t, addr: freeport.Address(t)}
	process := programs.Start(t, sandbox.Command(t, "prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+p.addr,
		"--enable-feature=exemplar-storage", "--log.level=warn"))
	wait.Until(t, "a Prometheus that is ready", func() bool {
		if process.Ended() {
			t.Fatalf("prometheus has ended: %s", process.Stderr())
		}
		res, err := http.Get("http://" + p.addr + "/-/ready")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return p
}

// ask decodes the data of an answer of Prometheus's API.
func (p *prometheus) ask(path string, data any) {
	p.t.Helper()
	res, err := http.Get("http://" + p.addr + "/api/v1/" + path)
	assert.NoError(p.t, err)
	defer res.Body.Close()
	assert.NoError(p.t, json.NewDecoder(res.Body).Decode(&struct{ Data any }{data}), path)
}

// firing returns the alerts that fire, each with the number of servers, sorted: "PetstoreClockOff
// 2".
func (p *prometheus) firing() []string {
	var data struct {
		Alerts []struct {
			State  string
			Labels struct{ Alertname string }
		}
	}
	p.ask("alerts", &data)
	counts := map[string]int{}
	for _, a := range data.Alerts {
		if a.State == "firing" {
			counts[a.Labels.Alertname]++
		}
	}
	var all []string
	for name, n := range counts {
		all = append(all, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(all)
	return all
}

// summary returns that of an alert that fires or is pending.
func (p *prometheus) summary(alert string) string {
	var data struct {
		Alerts []struct{ Labels, Annotations map[string]string }
	}
	p.ask("alerts", &data)
	for _, a := range data.Alerts {
		if a.Labels["alertname"] == alert {
			return a.Annotations["summary"]
		}
	}
	return ""
}

// reaches waits until Prometheus has reached so many servers of petstore, each at least once: on a
// busy machine it may never reach all of them within the same half second.
func (p *prometheus) reaches(servers int) {
	p.t.Helper()
	var data struct {
		Result []struct{ Metric struct{ Instance string } }
	}
	wait.Until(p.t, fmt.Sprintf("a Prometheus that reaches %d servers", servers), func() bool {
		p.ask("query?query="+url.QueryEscape(`max_over_time(up{job="petstore"}[1h]) == 1`), &data)
		return len(data.Result) == servers
	}, &data)
}
