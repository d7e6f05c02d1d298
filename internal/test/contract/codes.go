package contract

import (
	"maps"
	"slices"
)

// Codes returns the error codes that the document names, in alphabetical order.
func (d *Document) Codes() []string {
	found := map[string]bool{}
	visit(d.raw, func(object map[string]any) {
		code := members(members(object, "properties"), "code")
		names, _ := code["x-extensible-enum"].([]any)
		for _, name := range names {
			if text, ok := name.(string); ok {
				found[text] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(found))
}

// visit calls do with every object in a tree of JSON values.
func visit(node any, do func(map[string]any)) {
	switch node := node.(type) {
	case map[string]any:
		do(node)
		for _, child := range node {
			visit(child, do)
		}
	case []any:
		for _, child := range node {
			visit(child, do)
		}
	}
}
