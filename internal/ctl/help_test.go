package ctl

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/envvars"
	"petstore.example/internal/test/assert"
)

// eachCommand calls visit for the root and all commands below it, without the topics of the help.
func eachCommand(c *cobra.Command, visit func(*cobra.Command)) {
	if c.IsAdditionalHelpTopicCommand() {
		return
	}
	visit(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, visit)
	}
}

func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	fits := func(c *cobra.Command) {
		out.Reset()
		assert.NoError(t, c.Help())
		text, _, _ := strings.Cut(out.String(), "\nExamples:")
		for line := range strings.SplitSeq(text, "\n") {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s --help: more than 80 columns: %s", c.CommandPath(), line)
			}
		}
	}
	root := newCmdRoot(cmdutil.NewFactory(&cmdutil.IOStreams{Out: &out}))
	eachCommand(root, fits)
	for _, c := range root.Commands() {
		if c.IsAdditionalHelpTopicCommand() {
			fits(c)
		}
		if c.GroupID == "" && !c.IsAdditionalHelpTopicCommand() {
			t.Errorf("%s is in no group of petstorectl --help: see helpGroups", c.Name())
		}
	}
}

// TestEnvironmentIsDocumented: the topic names every variable that the commands read.
func TestEnvironmentIsDocumented(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`"(PETSTORE_[A-Z_]+|(?:NO|CLI)_?COLOR[A-Z_]*|(?:[A-Z_]+_)?PAGER|PG[A-Z]+)"`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range variable.FindAllStringSubmatch(string(text), -1) {
			if !regexp.MustCompile(`\b` + found[1] + `\b`).MatchString(environmentText) {
				t.Errorf("%s reads %s: explain it in environmentText", path, found[1])
			}
		}
		return err
	})
	assert.Equal(t, err, nil)
}

// TestVariablesAreKnown: every variable that the topic names is known, and every known one is the
// server's, of the topic or of docs/clients.md.
func TestVariablesAreKnown(t *testing.T) {
	t.Parallel()
	documented := environmentText
	for _, name := range []string{"configuration.md", "clients.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		assert.NoError(t, err)
		documented += string(text)
	}
	for _, name := range regexp.MustCompile(`PETSTORE_[A-Z_]+[A-Z]`).FindAllString(environmentText, -1) {
		if !slices.Contains(envvars.Names(), name) {
			t.Errorf("%s is not in the list of internal/envvars", name)
		}
	}
	for _, name := range envvars.Names() {
		if !regexp.MustCompile(name + `\b`).MatchString(documented) {
			t.Errorf("internal/envvars knows %s, which no document explains", name)
		}
	}
}

// TestSharedFlags: a command has a shared flag only if the flag has an effect on it: those that
// change something all of them, those that read the last three.
func TestSharedFlags(t *testing.T) {
	t.Parallel()
	const changes, reads = "reason yes dry-run database-url profile output", "database-url profile output"
	others := map[string]string{
		"migrate up":    "yes dry-run " + reads,
		"migrate down":  "yes dry-run " + reads,
		"tenant export": "database-url profile",
		"usage hand-on": "reason yes dry-run database-url profile",
		"login":         "profile output",
		"logout":        "profile",
		"version":       "output",
		"completion":    "",
	}
	eachCommand(newCmdRoot(cmdutil.NewFactory(&cmdutil.IOStreams{})), func(c *cobra.Command) {
		var has []string
		for flag := range strings.FieldsSeq(changes) {
			if c.Flags().Lookup(flag) != nil || c.InheritedFlags().Lookup(flag) != nil {
				has = append(has, flag)
			}
		}
		name := strings.TrimPrefix(c.CommandPath(), "petstorectl ")
		want, other := others[name]
		switch {
		case other:
		case slices.Contains(has, "reason"):
			want = changes
		case !c.HasSubCommands():
			want = reads
		}
		assert.Equal(t, strings.Join(has, " "), want, name)
	})
}
