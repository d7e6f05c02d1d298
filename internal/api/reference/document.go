package reference

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml"
)

// example is the origin that stands in the documents for the deployment's own.
const example = "https://api.example.com"

// rebase puts the deployment's own origin, and the path before /v1, into a document.
func rebase(document []byte, root string) []byte {
	return bytes.ReplaceAll(document, []byte(example), []byte(root))
}

// document makes the pages of an OpenAPI document in YAML: as it is, and as JSON with its members in the same order.
func (m maker) document(inYAML []byte) []*Page {
	return []*Page{
		newPage("/v1/openapi.yaml", "application/yaml", func() ([]byte, error) { return rebase(inYAML, m.root), nil }),
		newPage("/v1/openapi.json", "application/json", func() ([]byte, error) {
			inJSON, err := yaml.YAMLToJSON(inYAML)
			if err != nil {
				return nil, fmt.Errorf("convert the OpenAPI document: %w", err)
			}
			return rebase(inJSON, m.root), nil
		}),
	}
}
