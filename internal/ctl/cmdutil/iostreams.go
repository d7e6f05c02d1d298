package cmdutil

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/term"

	"petstore.example/internal/ctl/output"
)

const (
	defaultWidth  = 80
	defaultHeight = 24
	// maxLine bounds an answer or a key that is read.
	maxLine = 4096
)

// IOStreams are the three standard streams and what is known about them.
type IOStreams struct {
	In          io.Reader
	Out, ErrOut io.Writer
	// InTTY and OutTTY tell whether stdin and stdout are terminals.
	InTTY, OutTTY bool
	// ErrTTY tells whether stderr is a terminal.
	ErrTTY bool
	// OutNull tells whether stdout keeps nothing: it is /dev/null, or was closed, in which case Go
	// opens /dev/null.
	OutNull bool
	// Width and Height are the numbers of columns and lines of stdout's terminal.
	Width, Height int
	// Colors are the colors of stdout, ErrColors those of stderr.
	Colors, ErrColors output.Colors
	// ReadPassword reads a line from stdin's terminal without echo.
	ReadPassword func(context.Context) (string, error)
}

// SystemStreams returns the streams of this process. From then on, a write to a stream without a
// reader is an error and does not end the process. SIGPIPE is caught rather than ignored, because
// the pager would inherit an ignored signal.
func SystemStreams() *IOStreams {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	s := &IOStreams{
		In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr,
		InTTY: isTerminal(os.Stdin), OutTTY: isTerminal(os.Stdout), ErrTTY: isTerminal(os.Stderr),
		OutNull:      isNull(os.Stdout),
		ReadPassword: func(ctx context.Context) (string, error) { return readPassword(ctx, os.Stdin) },
	}
	s.Width, s.Height = defaultWidth, defaultHeight
	if w, h, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 && h > 0 {
		s.Width, s.Height = w, h
	}
	s.Colors, s.ErrColors = output.ColorsFor(
		s.OutTTY && understandsEscapes(os.Stdout),
		os.Getenv,
	), output.ColorsFor(
		s.ErrTTY && understandsEscapes(os.Stderr),
		os.Getenv,
	)
	return s
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// IsOutError tells whether writing to stdout failed.
func (s *IOStreams) IsOutError(err error) bool {
	out, isFile := s.Out.(*os.File)
	write := (*fs.PathError)(nil)
	return isFile && errors.As(err, &write) && write.Op == "write" && write.Path == out.Name()
}

// CheckOut refuses to make something that only stdout shows, such as "the key", if stdout keeps
// nothing.
func (f *Factory) CheckOut(what string) error {
	if !f.OutNull || f.DryRun {
		return nil
	}
	return UsageErrorf("stdout is closed or %s, and nothing else shows %s", os.DevNull, what).
		WithHint("nothing was changed; send stdout to a file, a pipe or a terminal")
}

// Messagef writes a line to stderr. On a terminal it is wrapped at words.
func (s *IOStreams) Messagef(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if s.ErrTTY {
		line = output.Wrap(line, s.Width, "")
	}
	// A failure of stderr can't be reported.
	_, _ = fmt.Fprintln(s.ErrOut, line)
}

// ReadLine reads one line of stdin, without its end. The last line may end with the input.
func (s *IOStreams) ReadLine(ctx context.Context) (string, error) { return s.readLine(ctx, false) }

// ReadTextLine is ReadLine for the first line that is not blank.
func (s *IOStreams) ReadTextLine(ctx context.Context) (string, error) { return s.readLine(ctx, true) }

func (s *IOStreams) readLine(ctx context.Context, skipBlank bool) (string, error) {
	return await(ctx, func() (string, error) {
		in := bufio.NewReader(io.LimitReader(s.In, maxLine))
		line, err := in.ReadString('\n')
		for skipBlank && err == nil && strings.TrimSpace(line) == "" {
			line, err = in.ReadString('\n')
		}
		if errors.Is(err, io.EOF) && line != "" {
			err = nil
		}
		return strings.TrimRight(line, "\r\n"), err
	})
}

// UseTerminal takes answers from the terminal, because stdin was read for something else. Without a
// terminal there is nobody to ask.
func (s *IOStreams) UseTerminal() {
	if s.InTTY = false; s.ErrTTY {
		tty, err := os.Open("/dev/tty")
		if s.InTTY = err == nil; s.InTTY {
			s.In = tty
		}
	}
}

// ReadText reads stdin to its end, or at most limit bytes of it, without a partial character at the
// end.
func (s *IOStreams) ReadText(ctx context.Context, limit int64) (string, error) {
	return await(ctx, func() (string, error) {
		text, err := io.ReadAll(io.LimitReader(s.In, limit))
		if int64(len(text)) == limit {
			text = bytes.TrimRightFunc(text, func(r rune) bool { return r == utf8.RuneError })
		}
		return string(text), err
	})
}

// readPassword turns the terminal's echo off, and on again even if it is interrupted.
func readPassword(ctx context.Context, f *os.File) (string, error) {
	fd := int(f.Fd())
	state, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read from the terminal: %w", err)
	}
	line, err := await(ctx, func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	})
	if ctx.Err() != nil {
		return "", errors.Join(ctx.Err(), term.Restore(fd, state))
	}
	return line, err
}

// await returns early when ctx ends: a read from a terminal can't be interrupted, and the process
// ends anyway.
func await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
