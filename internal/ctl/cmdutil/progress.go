package cmdutil

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// progressFrom is the number of items from which on a change shows its progress.
	progressFrom = 100
	// progressEvery is how often it is drawn.
	progressEvery = 100 * time.Millisecond
	progressWidth = 30
)

// Progress is a bar on stderr that shows how many items are done. It is drawn only on a terminal, and only if there are many items.
type Progress struct {
	s     *IOStreams
	what  string
	total int
	done  atomic.Int64
	// stop ends the goroutine that draws, which then closes drawn; nil if nothing is drawn.
	stop, drawn chan struct{}
}

// NewProgress returns the progress of that many items; what is the work, such as "revoking keys". Another goroutine draws it until Close:
// the work does not wait for the terminal.
func (s *IOStreams) NewProgress(what string, total int) *Progress {
	p := &Progress{s: s, what: what, total: total}
	if s.ErrTTY && total >= progressFrom {
		p.stop, p.drawn = make(chan struct{}), make(chan struct{})
		go p.run()
	}
	return p
}

// Add counts an item as done.
func (p *Progress) Add() { p.done.Add(1) }

func (p *Progress) run() {
	defer close(p.drawn)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		p.draw()
		select {
		case <-p.stop:
			// The next message begins at the start of the line.
			_, _ = fmt.Fprintf(p.s.ErrOut, "\r%s", eraseLine)
			return
		case <-tick.C:
		}
	}
}

func (p *Progress) draw() {
	done := min(int(p.done.Load()), p.total)
	filled := progressWidth * done / p.total
	bar := strings.Repeat("#", filled) + strings.Repeat(".", progressWidth-filled)
	// A failure of stderr can't be reported.
	_, _ = fmt.Fprintf(p.s.ErrOut, "\r%s [%s] %d of %d%s", p.what, bar, done, p.total, eraseLine)
}

// eraseLine erases the rest of the line (ECMA-48: EL).
const eraseLine = "\x1b[K"

// Close removes the bar.
func (p *Progress) Close() {
	if p.stop != nil {
		close(p.stop)
		<-p.drawn
	}
}
