package cmdutil

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"petstore.example/internal/ctl/output"
)

// Page runs a command. If the output is longer than the terminal's screen, it goes through a pager:
// PETSTORE_PAGER, else PAGER, else less if that is installed. If the variable has only spaces or is
// cat, there is no pager.
func Page(ctx context.Context, f *Factory, run func() error) error {
	less, _ := exec.LookPath("less")
	command := strings.Fields(cmp.Or(f.Getenv("PETSTORE_PAGER"), f.Getenv("PAGER"), less))
	if !f.OutTTY || f.Height == 0 || len(command) == 0 || command[0] == "cat" {
		return run()
	}
	// The pager ends when the person has read enough, not when the command is interrupted: ^C is
	// also a command of less.
	//nolint:gosec // the person's own choice
	program := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
	// These variables make less and lv show colors, and leave the text on the screen. A person's
	// own options win.
	program.Env = append(os.Environ(), "LESS="+cmp.Or(f.Getenv("LESS"), "FRX"), "LV="+cmp.Or(f.Getenv("LV"), "-c"))
	program.Stdout, program.Stderr = f.Out, f.ErrOut
	p := &pager{streams: *f.IOStreams, program: program}
	f.Out, f.ErrOut = p, writerFunc(func(b []byte) (int, error) {
		if p.program.Process != nil {
			return p.later.Write(b)
		}
		return p.streams.ErrOut.Write(b)
	})
	err := run()
	err = errors.Join(err, p.end())
	*f.IOStreams = p.streams
	if p.quit {
		// The person has read enough. The error comes from a writer without a reader.
		return nil
	}
	return err
}

// pager holds the output until it is longer than the screen, and then starts the program. It is for
// one goroutine.
type pager struct {
	streams IOStreams
	program *exec.Cmd
	// pending is the output that fits the screen so far. later has the messages for stderr while
	// the program has the screen.
	pending, later bytes.Buffer
	// out is the program's stdin, or the terminal if the program is not needed or could not be
	// started; nil before.
	out io.Writer
	// quit is set if the program ended before all was written.
	quit bool
}

// Write implements io.Writer.
func (p *pager) Write(b []byte) (int, error) {
	if p.out != nil {
		n, err := p.out.Write(b)
		p.quit = p.quit || err != nil && p.program.Process != nil
		return n, err
	}
	p.pending.Write(b)
	rows := 0
	for line := range strings.Lines(p.pending.String()) {
		rows += 1 + max(0, text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n"))-1)/p.streams.Width
	}
	if rows < p.streams.Height { // The prompt of the shell needs a line.
		return len(b), nil
	}
	stdin, err := p.program.StdinPipe()
	if p.out = stdin; err == nil {
		err = p.program.Start()
	}
	if err != nil {
		p.out = p.streams.Out
		p.streams.Messagef("petstorectl: can't start the pager: %s", output.Clean(err.Error()))
	}
	_, err = p.Write(p.pending.Bytes())
	return len(b), err
}

// end prints the output if it fits the screen, or waits until the person has read it.
func (p *pager) end() (err error) {
	if p.out == nil {
		_, err = p.streams.Out.Write(p.pending.Bytes())
	}
	if stdin, ok := p.out.(io.Closer); ok && p.program.Process != nil {
		// A program that has ended has closed stdin, and its exit status does not matter.
		_, _ = stdin.Close(), p.program.Wait()
	}
	_, later := p.streams.ErrOut.Write(p.later.Bytes())
	return errors.Join(err, later)
}

type writerFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
