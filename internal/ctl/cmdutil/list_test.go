package cmdutil

import (
	"bytes"
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
)

// TestMoreStandsBelowTheTable: also where the output waits until it is known whether it fits the
// screen.
func TestMoreStandsBelowTheTable(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	f := NewFactory(&IOStreams{Out: &screen, ErrOut: &screen, OutTTY: true, Width: 80, Height: 24})
	f.Getenv = func(name string) string { return map[string]string{"PETSTORE_PAGER": "sh"}[name] }
	f.db = &store.DB{}
	cmd := (&List[string]{
		Factory: f, After: func(name string) string { return name },
		View: func() output.View[string] {
			return output.View[string]{{Name: "name", Value: func(name string) any { return name }, InList: true}}
		},
		Rows: func(context.Context, *store.DB, int) (iter.Seq2[string, error], error) {
			return Items([]string{"acme", "zoo"}), nil
		},
	}).Command(&cobra.Command{Use: "list"})
	cmd.SetArgs([]string{"--limit", "1"})
	assert.NoError(t, cmd.ExecuteContext(t.Context()))
	f.SayLast()
	if got := screen.String(); !strings.HasPrefix(got, "NAME\nacme\n") ||
		!strings.HasSuffix(got, "\nmore: list --limit 1 --after acme\n") {
		t.Errorf("printed:\n%s", got)
	}
}
