package structure_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

// TestNoPasswordOnACommandLine looks at the commands of all pages: everybody on a machine sees the
// arguments of its processes, and a shell keeps them. A password belongs into a file (PGPASSFILE, a
// URL in a file), or is asked for.
func TestNoPasswordOnACommandLine(t *testing.T) {
	t.Parallel()
	block := regexp.MustCompile("(?s)```(\\w*)\n(.*?)```")
	password := regexp.MustCompile(`://[^/\s@]*:[^/\s@]+@|PGPASSWORD=|redis-cli\b.* -a |--(password|token)[= ][^-\s]`)
	commands := 0
	for path, text := range sources(t, ".md") {
		for _, found := range block.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(found[2]) {
				if !slices.Contains([]string{"sh", "bash", "console"}, found[1]) &&
					!strings.HasPrefix(strings.TrimSpace(line), "$ ") {
					continue
				}
				commands++
				assert.True(t, !password.MatchString(line), path, "has a command with a password:", line)
			}
		}
	}
	assert.True(t, commands > 100, "only", commands, "commands")
}
