package deploycheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestChartReadme: the table in the chart's README is that of values.yaml, with its comments.
// UPDATE_DOCS=1 rewrites it.
func TestChartReadme(t *testing.T) {
	t.Parallel()
	var values yaml.Node
	if err := yaml.Unmarshal(readFile(t, filepath.Join(chartDir(deploy), "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	table := []byte(
		"| value | default | meaning |\n|---|---|---|\n" + strings.Join(rowsOf(t, "", values.Content[0]), ""),
	)
	path := filepath.Join(chartDir(deploy), "README.md")
	text := readFile(t, path)
	from := bytes.Index(text, []byte("| value |"))
	if from < 0 {
		t.Fatalf("%s has no table of values", path)
	}
	if bytes.Equal(text[from:], table) {
		return
	}
	if os.Getenv("UPDATE_DOCS") == "" {
		t.Fatalf("%s is not of values.yaml: UPDATE_DOCS=1 go -C tools/deploycheck test -run TestChartReadme .", path)
	}
	if err := os.WriteFile(
		path,
		slices.Concat(text[:from], table),
		0o644,
	); err != nil { //nolint:gosec // Everybody may read it.
		t.Fatal(err)
	}
}

// TestChartSchema: values.yaml, and so the README, has each value that the schema allows.
func TestChartSchema(t *testing.T) {
	t.Parallel()
	type object struct {
		Ref         string `json:"$ref"`
		Properties  map[string]object
		Definitions map[string]object
	}
	var schema object
	if err := json.Unmarshal(readFile(t, filepath.Join(chartDir(deploy), "values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	delete(schema.Properties, "global") // which Helm adds for all charts
	var compare func(path string, values any, s object)
	compare = func(path string, values any, s object) {
		if s.Ref != "" {
			s = schema.Definitions[strings.TrimPrefix(s.Ref, "#/definitions/")]
		}
		for name, of := range s.Properties {
			value, ok := values.(map[string]any)[name]
			if !ok {
				t.Errorf("values.yaml has no %s", path+name)
			} else {
				compare(path+name+".", value, of)
			}
		}
	}
	compare("", parseValues(t, string(readFile(t, filepath.Join(chartDir(deploy), "values.yaml")))), schema)
}

// rowsOf returns a row for each value below a path. What stands in one line of values.yaml, and a
// list, is one value.
func rowsOf(t *testing.T, path string, values *yaml.Node) (rows []string) {
	t.Helper()
	for pair := range slices.Chunk(values.Content, 2) {
		name, value := pair[0], pair[1]
		meaning := strings.NewReplacer("# ", "", "\n", " ", "|", `\|`).Replace(name.HeadComment)
		block := value.Kind == yaml.MappingNode && value.Style&yaml.FlowStyle == 0
		if !block || meaning != "" {
			standard := ""
			if !block {
				standard = "`" + asJSON(t, value) + "`"
			}
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", path+name.Value, standard, meaning))
		}
		if block {
			rows = append(rows, rowsOf(t, path+name.Value+".", value)...)
		}
	}
	return rows
}

func asJSON(t *testing.T, value *yaml.Node) string {
	t.Helper()
	var decoded any
	if err := value.Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
