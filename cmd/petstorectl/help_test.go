package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	root := newCmdRoot(newFactory(&streams{out: &out}))
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		out.Reset()
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(out.String(), "\nExamples:")
		_, flags, _ := strings.Cut(out.String(), "\nFlags:")
		for line := range strings.SplitSeq(text+flags, "\n") {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s --help: more than 80 columns: %s", c.CommandPath(), line)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}
