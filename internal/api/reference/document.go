package reference

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// example is the origin in the documents; it stands for the deployment's own.
const example = "https://api.example.com"

// rebase replaces the example origin with the deployment's root.
func rebase(document []byte, root string) []byte {
	return bytes.ReplaceAll(document, []byte(example), []byte(root))
}

// document makes the pages of an OpenAPI document: in YAML, and in JSON with its members in the same order.
func (m maker) document(inYAML func() []byte) []*Page {
	return []*Page{
		newPage("/v1/openapi.yaml", "application/yaml", func() ([]byte, error) { return rebase(inYAML(), m.root), nil }),
		newPage("/v1/openapi.json", "application/json", func() ([]byte, error) {
			inJSON, err := yaml.YAMLToJSON(inYAML())
			if err != nil {
				return nil, fmt.Errorf("convert the OpenAPI document: %w", err)
			}
			return rebase(inJSON, m.root), nil
		}),
	}
}

// operations returns what the search finds of the operations. Each leads to its place in the reference, by the path that Scalar gives it.
func operations(prefix string, inYAML []byte) (all []found, err error) {
	type operation struct {
		Tags                 []string
		Summary, Description string
	}
	var document struct {
		Paths map[string]struct{ Get, Post, Patch *operation }
	}
	if err := yaml.Unmarshal(inYAML, &document); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	for path, item := range document.Paths {
		for method, o := range map[string]*operation{"GET": item.Get, "POST": item.Post, "PATCH": item.Patch} {
			if o == nil {
				continue
			}
			d := parse([]byte(o.Description))
			tag := strings.ReplaceAll(strings.ToLower(o.Tags[0]), " ", "-")
			all = append(all, found{
				Path: prefix + "/docs#tag/" + tag + "/" + method + path, Page: "Reference", Title: o.Summary,
				Text: method + " /v1" + path + " " + d.words(d.root),
			})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}
