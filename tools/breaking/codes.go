package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// lostCodes returns the error codes that a response of an operation no longer has. They are open
// lists in x-extensible-enum, whose values oasdiff does not compare in responses.
func lostCodes(released, document *openapi3.T) (findings []string) {
	eachOperation(released, document, func(name string, was, is *openapi3.Operation) {
		for status, response := range was.Responses.Map() {
			has := codes(is.Responses.Value(status))
			for _, code := range codes(response) {
				if !slices.Contains(has, code) {
					findings = append(
						findings,
						fmt.Sprintf("%s: status %s lost the code %s [code-removed]", name, status, code),
					)
				}
			}
		}
	})
	slices.Sort(findings)
	return findings
}

// codes returns the error codes in the examples of a response. It can have no others:
// internal/test/contract checks the server against them.
func codes(response *openapi3.ResponseRef) []string {
	found := map[string]bool{}
	if response == nil || response.Value == nil {
		return nil
	}
	for _, media := range response.Value.Content {
		for _, example := range media.Examples {
			value, _ := example.Value.Value.(map[string]any)
			if code, ok := value["code"].(string); ok {
				found[code] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
