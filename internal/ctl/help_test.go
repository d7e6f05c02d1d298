package ctl

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
)

// eachCommand calls visit for the root and all commands below it.
func eachCommand(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, visit)
	}
}

func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	eachCommand(newCmdRoot(cmdutil.NewFactory(&cmdutil.IOStreams{Out: &out})), func(c *cobra.Command) {
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
	})
}

// TestSharedFlags: a command has a shared flag only if the flag has an effect on it.
func TestSharedFlags(t *testing.T) {
	t.Parallel()
	shared := map[string][]string{}
	eachCommand(newCmdRoot(cmdutil.NewFactory(&cmdutil.IOStreams{})), func(c *cobra.Command) {
		for _, flag := range []string{"output", "database-url", "dry-run", "reason", "yes"} {
			if c.Flags().Lookup(flag) != nil || c.InheritedFlags().Lookup(flag) != nil {
				shared[flag] = append(shared[flag], strings.TrimPrefix(c.CommandPath(), "petstorectl "))
			}
		}
	})
	audited := []string{
		"ban lift", "ban place", "key edit", "key issue", "key revoke", "key rotate", "limits reset", "plan assign",
		"plan boost", "plan create", "plan edit", "plan move", "plan retire", "plan unschedule", "plan void", "plan withdraw",
		"tenant create", "tenant edit", "tenant resume", "tenant suspend", "usage close", "usage events",
	}
	reads := []string{
		"audit list", "audit verify", "ban list", "doctor", "key identify", "key list", "key show", "migrate down", "migrate status", "migrate up",
		"plan history", "plan list", "plan schedule", "plan show", "plan simulate", "tenant list", "tenant show", "usage export", "usage proof", "usage show", "usage verify", "why",
	}
	for flag, want := range map[string][]string{
		"yes":          {"key revoke", "key rotate", "limits reset", "migrate down", "tenant suspend"},
		"reason":       audited,
		"dry-run":      slices.Concat(audited, []string{"migrate down", "migrate up"}),
		"database-url": slices.Concat(audited, reads),
		"output":       slices.Concat(audited, reads, []string{"version"}),
	} {
		slices.Sort(want)
		slices.Sort(shared[flag])
		if diff := cmp.Diff(want, shared[flag]); diff != "" {
			t.Errorf("--%s (-want +got):\n%s", flag, diff)
		}
	}
}
