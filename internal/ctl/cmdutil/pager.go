package cmdutil

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"petstore.example/internal/ctl/output"
)

// defaultPager is used if the environment names none and it is installed.
const defaultPager = "less"

// Page runs a command whose output goes through a pager if it is longer than the screen of a terminal.
func Page(ctx context.Context, f *Factory, run func() error) error {
	command := pagerCommand(f.Getenv)
	if !f.OutTTY || f.Height == 0 || len(command) == 0 {
		return run()
	}
	p := &pager{ctx: ctx, streams: *f.IOStreams, command: command, environ: pagerEnvironment(f.Getenv)}
	streams := *f.IOStreams
	f.Out, f.ErrOut = p, p.messages()
	err := run()
	err = errors.Join(err, p.end())
	*f.IOStreams = streams
	if p.quit {
		// The person has read enough. The error is that of a writer without a reader.
		return nil
	}
	return err
}

// pagerCommand returns the program and its arguments: that of PETSTORE_PAGER, else of PAGER, else less. Empty and cat stand for none.
func pagerCommand(getenv func(string) string) []string {
	for _, name := range []string{"PETSTORE_PAGER", "PAGER"} {
		if text := getenv(name); text != "" {
			if program := strings.Fields(text); len(program) > 0 && program[0] != "cat" {
				return program
			}
			return nil
		}
	}
	if path, err := exec.LookPath(defaultPager); err == nil {
		return []string{path}
	}
	return nil
}

// pagerEnvironment lets less and lv show colors, and leave the text on the screen. Who has set their options knows better.
func pagerEnvironment(getenv func(string) string) []string {
	environ := os.Environ()
	for name, options := range map[string]string{"LESS": "FRX", "LV": "-c"} {
		if getenv(name) == "" {
			environ = append(environ, name+"="+options)
		}
	}
	return environ
}

// pager holds what is written until it is longer than the screen, and then starts the program. It is for one goroutine.
type pager struct {
	ctx     context.Context
	streams IOStreams
	command []string
	environ []string

	pending bytes.Buffer
	// program is nil until it is started, stdin what it reads.
	program *exec.Cmd
	stdin   io.WriteCloser
	// direct is set if the program could not be started.
	direct bool
	// quit is set when the program has ended before all was written.
	quit bool
	// later are the messages for stderr while the program has the screen.
	later bytes.Buffer
}

// Write implements io.Writer.
func (p *pager) Write(b []byte) (int, error) {
	switch {
	case p.direct:
		return p.streams.Out.Write(b)
	case p.program == nil:
		p.pending.Write(b)
		if p.fits() {
			return len(b), nil
		}
		p.start()
		return len(b), p.flush()
	}
	n, err := p.stdin.Write(b)
	p.quit = p.quit || err != nil
	return n, err
}

// fits tells whether what is pending leaves a line of the screen free, for the prompt.
func (p *pager) fits() bool {
	rows := 0
	for line := range strings.Lines(p.pending.String()) {
		width := text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n"))
		rows += 1 + max(0, width-1)/p.streams.Width
	}
	return rows < p.streams.Height
}

func (p *pager) start() {
	// It ends when the person has read enough, not when the command is interrupted: ^C is also a command of less.
	program := exec.CommandContext(context.WithoutCancel(p.ctx), p.command[0], p.command[1:]...) //nolint:gosec // the person's own choice
	program.Env, program.Stdout, program.Stderr = p.environ, p.streams.Out, p.streams.ErrOut
	stdin, err := program.StdinPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		p.direct = true
		p.streams.Messagef("petstorectl: can't start the pager: %s", output.Clean(err.Error()))
		return
	}
	p.program, p.stdin = program, stdin
}

// flush writes what is pending.
func (p *pager) flush() error {
	b := p.pending.Bytes()
	p.pending = bytes.Buffer{}
	_, err := p.Write(b)
	return err
}

// end prints what fits the screen, or waits until the person has read it all.
func (p *pager) end() error {
	if p.program == nil {
		p.direct = true
		return p.flush()
	}
	// A program that has ended has closed it, and how it ended is its own affair.
	_, _ = p.stdin.Close(), p.program.Wait()
	_, err := p.streams.ErrOut.Write(p.later.Bytes())
	return err
}

// messages returns what takes the place of stderr.
func (p *pager) messages() io.Writer {
	return writerFunc(func(b []byte) (int, error) {
		if p.program != nil {
			return p.later.Write(b)
		}
		return p.streams.ErrOut.Write(b)
	})
}

type writerFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
