package cmdutil

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// progressWidth is the width of the bar. eraseLine erases the rest of the line (ECMA-48: EL).
const progressWidth, eraseLine = 30, "\x1b[K"

// Progress shows the progress of total items. what is the work, such as "revoking keys". add counts
// an item as done; end removes the bar. For 100 items or more on a terminal, another goroutine
// draws the bar on stderr, so that the work does not wait for the terminal.
func (s *IOStreams) Progress(what string, total int) (add, end func()) {
	var done atomic.Int64
	var drawn sync.WaitGroup
	stop := make(chan struct{})
	if s.ErrTTY && total >= 100 {
		drawn.Go(func() {
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for {
				n := min(int(done.Load()), total)
				bar := strings.Repeat("#", progressWidth*n/total)
				// A failure of stderr can't be reported.
				_, _ = fmt.Fprintf(
					s.ErrOut,
					"\r%s [%s%s] %d of %d%s",
					what,
					bar,
					strings.Repeat(".", progressWidth-len(bar)),
					n,
					total,
					eraseLine,
				)
				select {
				case <-stop:
					// The next message begins at the start of the line.
					_, _ = fmt.Fprint(s.ErrOut, "\r"+eraseLine)
					return
				case <-tick.C:
				}
			}
		})
	}
	return func() { done.Add(1) }, func() { close(stop); drawn.Wait() }
}
