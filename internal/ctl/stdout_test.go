package ctl

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/test/assert"
)

// TestReadersThatAreGone: every command that only reads ends with 141 and without a message if
// nobody reads what it prints.
func TestReadersThatAreGone(t *testing.T) {
	t.Parallel()
	e := newRightsEnv(t)
	reader, unread, err := os.Pipe()
	assert.NoError(t, err)
	defer unread.Close()
	assert.NoError(t, reader.Close())
	eachCommand(newCmdRoot(cmdutil.NewFactory(&cmdutil.IOStreams{})), func(c *cobra.Command) {
		name := strings.TrimPrefix(c.CommandPath(), "petstorectl ")
		if c.HasSubCommands() || c.Flags().Lookup("dry-run") != nil ||
			slices.Contains([]string{"login", "logout", "help", "tail"}, name) { // tail has nothing to print.
			return
		}
		args := slices.Concat(strings.Fields(name), e.args(c, name))
		if c.Flags().Lookup("output") != nil {
			args = append(args, "-o", "json")
		}
		var messages bytes.Buffer
		f := cmdutil.NewFactory(
			&cmdutil.IOStreams{In: strings.NewReader(e.token), Out: unread, ErrOut: &messages},
		)
		f.Getenv = func(name string) string {
			return map[string]string{"PETSTORE_DATABASE_URL": e.URL}[name]
		}
		defer f.Close()
		if code := Run(t.Context(), f, args); code != cmdutil.ExitNoReader ||
			strings.Contains(messages.String(), "pipe") {
			t.Errorf("%v: exit %d: %s", args, code, messages.String())
		}
	})
}
