package structure_test

import (
	"regexp"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

// TestLogFieldsHaveUnits: zerolog writes a duration in milliseconds, and the name of its field says
// so.
func TestLogFieldsHaveUnits(t *testing.T) {
	t.Parallel()
	found := 0
	for file, text := range sources(t, ".go") {
		for _, field := range regexp.MustCompile(`\.(?:Dur|TimeDiff)\("(\w+)"`).FindAllSubmatch(text, -1) {
			found++
			assert.True(
				t,
				strings.HasSuffix(string(field[1]), "_ms"),
				file,
				"writes",
				string(field[1]),
				"without its unit",
			)
		}
	}
	assert.True(t, found > 0, "log fields that are durations")
}
