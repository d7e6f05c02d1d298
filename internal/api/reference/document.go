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

// Document is the OpenAPI document in both its forms, written for a server at https://api.example.com.
type Document struct{ YAML, JSON []byte }

// Convert makes JSON of a document in YAML, with its members in the same order.
func Convert(inYAML []byte) (Document, error) {
	inJSON, err := yaml.YAMLToJSON(inYAML)
	if err != nil {
		return Document{}, fmt.Errorf("convert the OpenAPI document: %w", err)
	}
	return Document{inYAML, inJSON}, nil
}

// pages returns the pages of the document, for the server at root.
func (d Document) pages(root string) []*Page {
	return []*Page{
		newPage("/v1/openapi.yaml", "application/yaml", rebase(d.YAML, root)),
		newPage("/v1/openapi.json", "application/json", rebase(d.JSON, root)),
	}
}
