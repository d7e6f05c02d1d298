package programs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// kindOfTrouble is a kind of trouble. The log has one line of it a second.
type kindOfTrouble struct{ Level, Message, Code, Reason, Route string }

// troubleLines are the lines of one kind.
type troubleLines struct {
	first, last time.Time
	count       int
	// setBack is true if the clock was set back. Then the times mean nothing.
	setBack bool
}

// checkTrouble checks that a server's log has at most one line a second for each kind of trouble.
// It allows a few more, because a server may write a line later than it decides to.
func checkTrouble(t testing.TB, log string) {
	t.Helper()
	for kind, of := range troubleOf(log) {
		if most := 3 + int(of.last.Sub(of.first)/time.Second); of.count > most && !of.setBack {
			t.Errorf(
				"%d lines of one kind of trouble between %v and %v, want at most %d: %+v",
				of.count,
				of.first,
				of.last,
				most,
				kind,
			)
		}
	}
}

func troubleOf(log string) map[kindOfTrouble]*troubleLines {
	all := map[kindOfTrouble]*troubleLines{}
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"level":"error"`) && !strings.Contains(line, `"level":"warn"`) {
			continue
		}
		var e struct {
			kindOfTrouble
			Time time.Time
		}
		if json.Unmarshal([]byte(line), &e) != nil || e.Message == "" {
			continue // The line is not from one of our servers.
		}
		of := all[e.kindOfTrouble]
		if of == nil {
			of = &troubleLines{first: e.Time, last: e.Time}
			all[e.kindOfTrouble] = of
		}
		of.setBack = of.setBack || e.Time.Before(of.last)
		of.last = e.Time
		of.count++
	}
	return all
}
