package structure_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

// unreadable are forms that a reader has to read twice. A sentence begins with its subject, and the
// subject is a noun.
var unreadable = []struct {
	form *regexp.Regexp
	say  string
}{
	{regexp.MustCompile(`(?i)\b(of|to|from|by|as) whom\b|\bwhom to\b`), "who, or the noun"},
	{
		regexp.MustCompile(
			`(?i)\bof (which|those|none|one) (is|are|was|were|has|have|more|that|which|no)\b|\b(those|ones?) of ` +
				`which\b`,
		),
		"whose, or another sentence",
	},
	{regexp.MustCompile(`(?i)\bwho(so)?ever\b`), "the login that, every client that"},
	{regexp.MustCompile(`(?:^|[.:;] )(?:One|Those|Ones|one) (?:that|of|which) `), "the noun"},
	{
		regexp.MustCompile(`(?:^|[.:;] )(?:What|Who) [^.?]* (?:is|are|was|were|has|have|can|may) [^.?]*\.(?:$| )`),
		"the noun",
	},
}

// TestTextsAreReadOnce looks for these forms in the README, in help texts and everything else that
// petstorectl prints, and in errors and log lines of both programs.
func TestTextsAreReadOnce(t *testing.T) {
	t.Parallel()
	refuse := func(where, text string) {
		text = strings.Join(strings.Fields(text), " ")
		for _, u := range unreadable {
			if found := u.form.FindString(text); found != "" {
				t.Errorf("%s: %q must be read twice: say %s, in %.200q", where, found, u.say, text)
			}
		}
	}
	for path, text := range sources(t, ".md", ".go") {
		path = filepath.ToSlash(path)
		switch {
		case path == "README.md":
			for paragraph := range strings.SplitSeq(string(text), "\n\n") {
				refuse(path, paragraph)
			}
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") &&
			!strings.HasPrefix(path, "internal/test/"):
			set, file := parse(t, path, text)
			printed(file, strings.HasPrefix(path, "internal/ctl/"), func(lit *ast.BasicLit) {
				if value, err := strconv.Unquote(lit.Value); err == nil {
					for paragraph := range strings.SplitSeq(value, "\n\n") {
						refuse(path+":"+strconv.Itoa(set.Position(lit.Pos()).Line), paragraph)
					}
				}
			})
		}
	}
}

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

// printed calls f for the texts of a file that somebody reads: all of them, or those of errors and
// log lines.
func printed(file *ast.File, all bool, f func(*ast.BasicLit)) {
	makers := []string{"New", "Errorf", "Msg", "Msgf"}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if all && n.Kind == token.STRING {
				f(n)
			}
		case *ast.CallExpr:
			maker, ok := n.Fun.(*ast.SelectorExpr)
			if all || !ok || !slices.Contains(makers, maker.Sel.Name) || len(n.Args) == 0 {
				return true
			}
			if lit, ok := n.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				f(lit)
			}
		}
		return true
	})
}
