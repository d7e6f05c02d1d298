package cmdutil

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/output"
)

const watchDefault = "2s"

// watchable adds --watch to a command that only reads, and lets its output go through a pager without it.
func watchable(f *Factory, cmd *cobra.Command) {
	var every time.Duration
	ParsedFlag(cmd, &every, "watch", "", "run again each `INTERVAL` until ^C, on a terminal", ParseDuration)
	cmd.Flags().Lookup("watch").NoOptDefVal = watchDefault
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		once := func() error { return run(cmd, args) }
		switch {
		case every == 0:
			return Page(cmd.Context(), f, once)
		case !f.OutTTY:
			return UsageErrorf("--watch redraws a terminal, and stdout is not one").WithHint("omit --watch, and repeat the command")
		case slices.Contains(args, "-"):
			return UsageErrorf("--watch can't be used with -: stdin can be read only once")
		}
		title := fmt.Sprintf("every %v: %s", every, strings.Join(append([]string{cmd.CommandPath()}, args...), " "))
		return watch(cmd.Context(), f, every, output.Clean(title), once)
	}
}

// watch draws what a command prints again and again, until it is interrupted. A first run that fails ends it; a later failure is shown,
// and may pass.
func watch(ctx context.Context, f *Factory, every time.Duration, title string, run func() error) error {
	for first := true; ; first = false {
		if f.Size != nil {
			f.Width, f.Height = f.Size()
		}
		lines, err := frame(ctx, f, title, run)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // ^C is how it ends
		case err != nil && first:
			return err
		}
		if err := f.draw(lines); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			// The terminal has shown ^C where the next prompt would begin.
			f.Messagef("")
			return nil
		case <-time.After(every):
		}
	}
}

// frame returns the lines of a run: what it prints, then its messages.
func frame(ctx context.Context, f *Factory, title string, run func() error) ([]string, error) {
	var printed, messages bytes.Buffer
	out, errOut := f.Out, f.ErrOut
	f.Out, f.ErrOut = &printed, &messages
	err := run()
	if err != nil {
		f.Report(ctx, err)
	}
	f.Out, f.ErrOut = out, errOut
	lines := []string{title + "  " + f.Now().Format("15:04:05Z"), ""}
	for _, b := range []*bytes.Buffer{&printed, &messages} {
		if text := strings.TrimRight(b.String(), "\n"); text != "" {
			lines = append(lines, strings.Split(text, "\n")...)
		}
	}
	return lines, err
}

// Control sequences of ECMA-48.
const (
	cursorHome = "\x1b[H"
	eraseBelow = "\x1b[J"
)

// draw replaces what is on the screen, without clearing it first, which would flicker. The last line stays free for the cursor.
func (s *IOStreams) draw(lines []string) error {
	if most := s.Height - 1; len(lines) > most && most > 1 {
		more := output.Count(int64(len(lines)-most+1), "more line")
		lines = append(lines[:most-1:most-1], "… "+more)
	}
	var screen strings.Builder
	screen.WriteString(cursorHome)
	for _, line := range lines {
		screen.WriteString(text.Snip(line, s.Width, "…") + eraseLine + "\n")
	}
	screen.WriteString(eraseBelow)
	_, err := io.WriteString(s.Out, screen.String())
	return err
}
