package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

const (
	defaultWidth = 80
	// maxLine bounds what is read as an answer or a key.
	maxLine = 4096
)

// streams are the three standard streams and what is known of them.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// inTTY and outTTY tell whether a person sits at stdin and at stdout.
	inTTY, outTTY bool
	// width is how many columns stdout's terminal has.
	width int
	// silent reads a line from stdin's terminal without showing it.
	silent func(context.Context) (string, error)
}

func systemStreams() *streams {
	s := &streams{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inTTY: isTerminal(os.Stdin), outTTY: isTerminal(os.Stdout), width: defaultWidth,
	}
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		s.width = w
	}
	s.silent = func(ctx context.Context) (string, error) { return readSilently(ctx, os.Stdin) }
	return s
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// say writes talk, which is no data.
func (s *streams) say(format string, args ...any) {
	// Nobody can be told that stderr does not work.
	_, _ = fmt.Fprintf(s.err, format+"\n", args...)
}

// readLine reads one line of stdin, without its end. The end of input ends the last line.
func (s *streams) readLine(ctx context.Context) (string, error) {
	return await(ctx, func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(s.in, maxLine)).ReadString('\n')
		if errors.Is(err, io.EOF) && line != "" {
			err = nil
		}
		return trimLine(line), err
	})
}

func trimLine(line string) string {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

// readSilently reads a line with the terminal's echo off, and puts it back on when it is interrupted too.
func readSilently(ctx context.Context, f *os.File) (string, error) {
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

// await returns early when ctx ends: a read from a terminal, or from a server that says nothing, can't be broken off, and
// the process ends then anyway.
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
