package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/oasdiff/yaml"
)

// exceptionsFile is in the directory of the released documents.
const exceptionsFile = "exceptions.yaml"

// exception allows a finding that would otherwise be refused.
type exception struct {
	// Finding is a regular expression that matches a whole finding.
	Finding string `json:"finding"`
	// Reason says why the change breaks no promise.
	Reason string `json:"reason"`

	matches *regexp.Regexp
}

func parseExceptions(file string, text []byte) ([]exception, error) {
	var list struct {
		Exceptions []exception `json:"exceptions"`
	}
	strict := func(d *json.Decoder) *json.Decoder { d.DisallowUnknownFields(); return d }
	if _, err := yaml.Unmarshal(text, &list, yaml.DecodeOpts{}, strict); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i := range list.Exceptions {
		e := &list.Exceptions[i]
		if e.Reason == "" {
			return nil, fmt.Errorf("%s: %s: say the reason", file, e.Finding)
		}
		var err error
		if e.matches, err = regexp.Compile("^(?:" + e.Finding + ")$"); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return list.Exceptions, nil
}

// allow returns the findings that no exception matches, and the exceptions that match no finding.
func allow(findings []string, exceptions []exception) (refused []string, unused []exception) {
	for _, f := range findings {
		if !slices.ContainsFunc(exceptions, func(e exception) bool { return e.matches.MatchString(f) }) {
			refused = append(refused, f)
		}
	}
	for _, e := range exceptions {
		if !slices.ContainsFunc(findings, e.matches.MatchString) {
			unused = append(unused, e)
		}
	}
	return refused, unused
}
