package alerts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
)

// TestRules runs promtool on the configuration, and on rules_test.yml and rules_days_test.yml: what
// no test with servers waits for.
func TestRules(t *testing.T) {
	t.Parallel()
	dir := root + "deploy/prometheus"
	for _, args := range [][]string{{"check", "config", "prometheus.yml"}, {"check", "rules", "alerts.yml"}} {
		if out, ok := promtool(t, dir, "", args...); !ok {
			t.Errorf("promtool %s: %s", strings.Join(args, " "), out)
		}
	}
	if out, ok := promtool(t, ".", "", "test", "rules", "rules_test.yml", "rules_days_test.yml"); !ok {
		t.Errorf("promtool test rules: %s", out)
	}
}

// TestBackupMetric: what a backup leaves for node_exporter is the metric of the alert, and promtool
// finds nothing wrong with it.
func TestBackupMetric(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		out, err := sandbox.Command(t, root+"deploy/backup/petstore-backup-done", "dump", dir).CombinedOutput()
		assert.Result(t, string(out), err, "", "petstore-backup-done")
	}
	text := programs.Read(t, dir+"/petstore_backup_dump.prom")
	assert.True(
		t,
		regexp.MustCompile(
			`\npetstore_backup_last_success_timestamp_seconds\{kind="dump"\} [1-9]\d{9}\n$`,
		).MatchString(
			text,
		),
		text,
	)
	if out, ok := promtool(t, dir, text, "check", "metrics"); !ok || out != "" {
		t.Errorf("promtool check metrics: %s", out)
	}
}

// rule is one of alerts.yml.
type rule struct {
	Alert, Record, Expr string
	Labels              map[string]string
	Annotations         map[string]string
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []rule }
	}
	assert.NoError(t, yaml.Unmarshal([]byte(programs.Read(t, root+"deploy/prometheus/alerts.yml")), &file))
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func alerts(t *testing.T) (all []rule) {
	t.Helper()
	return slices.DeleteFunc(rules(t), func(r rule) bool { return r.Alert == "" })
}

// TestEveryAlertIsTested: each fires in a test with servers, or in one of promtool.
func TestEveryAlertIsTested(t *testing.T) {
	t.Parallel()
	var tested []string
	for _, f := range faults {
		for _, alert := range f.alerts {
			tested = append(tested, strings.Fields(alert)[0])
		}
	}
	byPromtool := programs.Read(t, "rules_test.yml") + programs.Read(t, "rules_days_test.yml")
	for _, a := range alerts(t) {
		fires := regexp.MustCompile(`alertname: ` + a.Alert + `\n\s+exp_alerts:\n`).MatchString(byPromtool)
		if !fires && !slices.Contains(tested, a.Alert) {
			t.Errorf("%s fires in no test", a.Alert)
		}
	}
}

// TestAlertsHaveRunbooks: docs/running.md has a section of each alert, and of nothing else, which
// begins with a check of doctor that exists. The alert leads to it.
func TestAlertsHaveRunbooks(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(programs.Read(t, root+"docs/running.md"), "\n## Runbooks\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var runbooks, names []string
	for _, part := range strings.Split(section, "\n### ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		runbooks = append(runbooks, name)
		found := regexp.MustCompile("^\n`petstorectl doctor`: `(\\w+)`").FindStringSubmatch(text)
		if found == nil {
			t.Errorf("the runbook of %s does not begin with a check of doctor: %.80q", name, text)
		} else if !slices.Contains(doctorChecks(t), found[1]) {
			t.Errorf("the runbook of %s begins with the check %s, which doctor does not have", name, found[1])
		}
	}
	for _, a := range alerts(t) {
		names = append(names, a.Alert)
		want := "docs/running.md#" + strings.ToLower(a.Alert)
		assert.Equal(t, a.Annotations["runbook"], want, a.Alert, "runbook")
		if severity := a.Labels["severity"]; a.Annotations["summary"] == "" ||
			severity != "critical" && severity != "warning" {
			t.Errorf("%s has no summary, or the severity %q", a.Alert, severity)
		}
	}
	assert.DeepEqual(t, runbooks, names, "runbooks -alerts +runbooks, in the order of alerts.yml")
}

// doctorChecks are the names of checks in the source of doctor.
func doctorChecks(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob(root + "internal/ctl/doctor/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		assert.NoError(t, err)
		for _, found := range regexp.MustCompile(`Finding\{(?:check: )?"(\w+)"`).FindAllStringSubmatch(string(text),
			-1) {
			all = append(all, found[1])
		}
	}
	return all
}
