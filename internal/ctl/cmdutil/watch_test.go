package cmdutil

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// screens are the lines of each picture that was drawn.
func screens(t *testing.T, drawn string) [][]string {
	t.Helper()
	var all [][]string
	for picture := range strings.SplitSeq(strings.TrimPrefix(drawn, cursorHome), cursorHome) {
		picture, found := strings.CutSuffix(picture, eraseBelow)
		lines := strings.Split(strings.TrimSuffix(picture, "\n"), "\n")
		for i, line := range lines {
			if lines[i] = strings.TrimSuffix(line, eraseLine); lines[i] == line || !found {
				t.Errorf("%q does not replace what was drawn before", line)
			}
		}
		all = append(all, lines)
	}
	return all
}

// TestWatch: the output of each run replaces the one before it, in what fits the screen; a later failure is shown; ^C is the end.
func TestWatch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var drawn bytes.Buffer
	f := NewFactory(&IOStreams{Out: &drawn, ErrOut: io.Discard, Width: 20, Height: 6})
	f.Clock = func() time.Time { return time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC) }
	runs := 0
	err := watch(ctx, f, time.Millisecond, "title", func() error {
		switch runs++; runs {
		case 1:
			fmt.Fprintln(f.Out, "\x1b[32mgreen\x1b[0m and much more than fits")
			f.Messagef("a message")
		case 2:
			return errors.New("the database is away")
		case 3:
			fmt.Fprint(f.Out, "1\n2\n3\n4\n")
		case 4:
			cancel()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	want := [][]string{
		{"title  10:30:00Z", "", "\x1b[32mgreen\x1b[0m and much more…", "a message"},
		{"title  10:30:00Z", "", "petstorectl: the da…"},
		{"title  10:30:00Z", "", "1", "2", "… 2 more lines"},
	}
	if diff := cmp.Diff(want, screens(t, drawn.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWatchFails: what can't run once is not repeated.
func TestWatchFails(t *testing.T) {
	t.Parallel()
	var drawn bytes.Buffer
	f := NewFactory(&IOStreams{Out: &drawn, ErrOut: io.Discard, Width: 20, Height: 6})
	away := errors.New("away")
	if err := watch(t.Context(), f, time.Hour, "title", func() error { return away }); !errors.Is(err, away) || drawn.Len() > 0 {
		t.Errorf("%v, %q", err, drawn.String())
	}
}
