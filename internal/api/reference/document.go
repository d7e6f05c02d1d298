package reference

import (
	"bytes"
	"fmt"

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
