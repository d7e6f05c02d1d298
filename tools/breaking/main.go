// Command breaking compares the API's OpenAPI document with the last released one. It fails on
// changes that docs/versioning.md does not allow within a version: a breaking change, a removal
// without notice, an earlier removal date, a removed error code, and a lower stability.
//
//	breaking RELEASED_DIR DOCUMENT
//
// The directory holds the released documents, named by their versions, and exceptions.yaml: what
// changed since the last of them and breaks no promise, each with its reason.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/diff"
	"github.com/oasdiff/oasdiff/load"
)

// The notices of docs/versioning.md, in days.
const (
	stableNotice = 365
	betaNotice   = 180
)

// severities differ from oasdiff's: a changed default is an error, a new value in a response is
// not.
var severities = map[string]checker.Level{
	checker.ResponsePropertyEnumValueAddedId:      checker.INFO,
	checker.RequestParameterDefaultValueChangedId: checker.ERR,
	checker.RequestParameterDefaultValueAddedId:   checker.ERR,
	checker.RequestParameterDefaultValueRemovedId: checker.ERR,
	checker.RequestPropertyDefaultValueChangedId:  checker.ERR,
	checker.RequestPropertyDefaultValueAddedId:    checker.ERR,
	checker.RequestPropertyDefaultValueRemovedId:  checker.ERR,
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: breaking RELEASED_DIR DOCUMENT")
		os.Exit(2)
	}
	released, err := last(os.Args[1])
	text, missing := os.ReadFile(filepath.Join(os.Args[1], exceptionsFile))
	exceptions, unparsed := parseExceptions(exceptionsFile, text)
	if err = errors.Join(err, missing, unparsed); err == nil {
		err = compare(released, os.Args[2], exceptions)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// last returns the document with the highest version.
func last(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return "", err
	}
	var highest *semver.Version
	var found string
	for _, f := range files {
		if filepath.Base(f) == exceptionsFile {
			continue
		}
		v, err := semver.StrictNewVersion(strings.TrimSuffix(filepath.Base(f), ".yaml"))
		if err != nil {
			return "", fmt.Errorf("%s: a released document is named by its version: %w", f, err)
		}
		if highest == nil || v.GreaterThan(highest) {
			highest, found = v, f
		}
	}
	if highest == nil {
		return "", errors.New("no released document in " + dir)
	}
	return found, nil
}

// compare returns an error that names the refused findings that no exception allows, and the
// exceptions that allow nothing.
func compare(released, document string, exceptions []exception) error {
	var specs [2]*load.SpecInfo
	for i, file := range []string{released, document} {
		spec, err := load.NewSpecInfo(openapi3.NewLoader(), load.NewSource(file), load.WithFlattenAllOf())
		if err != nil {
			return fmt.Errorf("load %s: %w", file, err)
		}
		specs[i] = spec
	}
	report, sources, err := diff.GetWithOperationsSourcesMap(diff.NewConfig(), specs[0], specs[1])
	if err != nil {
		return fmt.Errorf("compare with %s: %w", released, err)
	}
	config := checker.NewConfig(
		checker.GetAllChecks(),
		checker.WithDeprecation(betaNotice, stableNotice),
		checker.WithSeverityLevels(severities),
	)
	words := checker.NewLocalizer("en")
	findings := slices.Concat(nearer(specs[0].Spec, specs[1].Spec), lostCodes(specs[0].Spec, specs[1].Spec))
	for _, change := range checker.CheckBackwardCompatibilityUntilLevel(config, report, sources, checker.WARN) {
		findings = append(
			findings,
			fmt.Sprintf(
				"%s %s: %s [%s]",
				change.GetOperation(),
				change.GetPath(),
				change.GetUncolorizedText(words),
				change.GetId(),
			),
		)
	}
	refused, unused := allow(findings, exceptions)
	for _, e := range unused {
		refused = append(refused, e.Finding+": this exception matches nothing; remove it")
	}
	if len(refused) == 0 {
		return nil
	}
	return fmt.Errorf(
		"%s breaks the promises of docs/versioning.md to those who use %s:\n  %s",
		document,
		released,
		strings.Join(refused, "\n  "),
	)
}

// eachOperation calls do with the old and the new form of each operation that is in both documents.
// oasdiff finds the removed ones.
func eachOperation(released, document *openapi3.T, do func(name string, was, is *openapi3.Operation)) {
	for path, item := range released.Paths.Map() {
		for method, was := range item.Operations() {
			if now := document.Paths.Value(path); now != nil && now.GetOperation(method) != nil {
				do(method+" "+path, was, now.GetOperation(method))
			}
		}
	}
}

// nearer returns the operations whose removal date is now earlier than announced. oasdiff allows
// that if the notice is still kept. The dates are compared as texts, which is right for dates of
// RFC 3339.
func nearer(released, document *openapi3.T) (findings []string) {
	eachOperation(released, document, func(name string, was, is *openapi3.Operation) {
		before, _ := was.Extensions["x-sunset"].(string)
		if now, _ := is.Extensions["x-sunset"].(string); now < before {
			findings = append(
				findings,
				fmt.Sprintf("%s: x-sunset was %s and is now %q [sunset-nearer]", name, before, now),
			)
		}
	})
	return findings
}
