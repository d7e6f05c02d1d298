package structure_test

import (
	"regexp"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

// TestPromisesHaveTests: each test in CONTRIBUTING.md's table of promises exists.
func TestPromisesHaveTests(t *testing.T) {
	t.Parallel()
	exist := map[string]bool{}
	for _, text := range sources(t, "_test.go") {
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			exist[string(found[1])] = true
		}
	}
	_, table, found := strings.Cut(
		string(sources(t, "CONTRIBUTING.md")["CONTRIBUTING.md"]),
		"| promise | tests | tier |",
	)
	assert.True(t, found, "CONTRIBUTING.md has a table of promises")
	table, _, _ = strings.Cut(table, "\n\n")
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(table, -1)
	assert.True(t, len(named) > 20, "it names", len(named), "tests")
	for _, test := range named {
		assert.True(t, exist[test[1]], "CONTRIBUTING.md names", test[1], "which does not exist")
	}
}
