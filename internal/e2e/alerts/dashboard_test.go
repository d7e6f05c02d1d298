package alerts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
)

// panel is one of the dashboard.
type panel struct {
	ID         int
	Type       string
	Title      string
	Datasource struct{ UID string }
	GridPos    struct{ H, W, X, Y int }
	Targets    []struct {
		RefID, Expr string
		Datasource  struct{ UID string }
	}
	FieldConfig struct {
		Defaults struct{ Unit string }
	}
}

func dashboard(t *testing.T) (panels []panel) {
	t.Helper()
	var d struct {
		UID, Title    string
		SchemaVersion int
		Panels        []panel
		Templating    struct {
			List []struct{ Name string }
		}
	}
	assert.NoError(t, json.Unmarshal([]byte(programs.Read(t, root+"deploy/grafana/petstore.json")), &d))
	var variables []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
	}
	if d.UID == "" || d.Title == "" || d.SchemaVersion == 0 ||
		!slices.Equal(variables, []string{"datasource", "instance"}) {
		t.Errorf(
			"the dashboard lacks something: %q, %q, version %d, variables %v",
			d.UID,
			d.Title,
			d.SchemaVersion,
			variables,
		)
	}
	return d.Panels
}

// TestDashboard holds the dashboard to what Grafana needs: a row for each user, IDs that are
// unique, panels that do not overlap.
func TestDashboard(t *testing.T) {
	t.Parallel()
	var rows []string
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range dashboard(t) {
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("%s: the ID %d is not its own", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s is where %q is, or beyond the right edge", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if !slices.Contains([]string{"timeseries", "stat"}, p.Type) || len(p.Targets) == 0 ||
			p.FieldConfig.Defaults.Unit == "" ||
			p.Datasource.UID != "${datasource}" {
			t.Errorf(
				"%s: type %q, %d targets, unit %q, source %q",
				p.Title,
				p.Type,
				len(p.Targets),
				p.FieldConfig.Defaults.Unit,
				p.Datasource.UID,
			)
		}
		for i, target := range p.Targets {
			assert.Equal(t, target.RefID, string(rune('A'+i)), p.Title, "target", i)
			assert.Equal(t, target.Datasource.UID, "${datasource}", p.Title, "target", i, "data source")
		}
	}
	assert.DeepEqual(t, rows, []string{"Customers", "Limits", "Fleet", "Postgres", "Redis", "Billing"}, "rows")
}

// TestDashboardIsAccepted has promtool read each expression of the dashboard, as that of a rule.
func TestDashboardIsAccepted(t *testing.T) {
	t.Parallel()
	type recording struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var all []recording
	for _, p := range dashboard(t) {
		for _, target := range p.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(target.Expr)
			all = append(all, recording{fmt.Sprintf("panel%d:%s", p.ID, target.RefID), expr})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": all}}})
	assert.NoError(t, err)
	path := filepath.Join(t.TempDir(), "rules.yml")
	assert.NoError(t, os.WriteFile(path, text, 0o600))
	if out, ok := promtool(t, ".", "", "check", "rules", path); !ok || len(all) < 40 {
		t.Errorf("%d expressions: %s", len(all), out)
	}
}

// TestExpressionsNameKnownMetrics: whatever the dashboard and the rules ask for is on
// docs/metrics.md, with the labels that they use.
func TestExpressionsNameKnownMetrics(t *testing.T) {
	t.Parallel()
	exprs := map[string]string{}
	for _, p := range dashboard(t) {
		for _, target := range p.Targets {
			exprs[p.Title+" "+target.RefID] = target.Expr
		}
	}
	for _, r := range rules(t) {
		exprs[r.Alert+r.Record] = r.Expr
	}
	known := documentedMetrics(t)
	known["petstore_backup_last_success_timestamp_seconds"] = metric{
		Labels: "kind",
	} // deploy/backup writes it, and no server.
	selector := regexp.MustCompile(`\b(petstore_\w+)(?:\{([^}]*)\})?`)
	label := regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	for where, expr := range exprs {
		for _, found := range selector.FindAllStringSubmatch(expr, -1) {
			name := found[1]
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				if base := strings.TrimSuffix(name, suffix); known[base].Type == "histogram" {
					name = base
				}
			}
			m, ok := known[name]
			assert.True(t, ok, where, "no metric", found[1])
			for _, l := range label.FindAllStringSubmatch(found[2], -1) {
				if !slices.Contains(append(strings.Fields(m.Labels), "instance", "job"), l[1]) {
					t.Errorf("%s: %s has no label %s", where, name, l[1])
				}
			}
		}
	}
}
