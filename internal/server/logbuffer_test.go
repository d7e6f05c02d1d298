package server

import (
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"petstore.example/internal/test/wait"
)

// writes counts what it is given.
type writes struct {
	mu   sync.Mutex
	all  strings.Builder
	many int
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.many++
	return w.all.Write(p)
}

func (w *writes) text() (string, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String(), w.many
}

func TestLogBuffer(t *testing.T) {
	t.Parallel()
	out := &writes{}
	b := NewLogBuffer(out)
	log := zerolog.New(b)
	log.Info().Msg("one")
	log.Warn().Msg("two")
	log.Error().Msg("three")
	want := `{"level":"info","message":"one"}` + "\n" + `{"level":"warn","message":"two"}` + "\n" +
		`{"level":"error","message":"three"}` + "\n"
	// The timer of a slow machine may write the first two before.
	if got, many := out.text(); got != want || many > 2 {
		t.Errorf("after an error %d writes of %q, want %q", many, got, want)
	}
	log.Info().Msg("four")
	want += `{"level":"info","message":"four"}` + "\n"
	got := ""
	wait.Until(t, "a fourth line", func() bool {
		got, _ = out.text()
		return got == want
	}, &got)
	log.Info().Msg("five")
	b.Flush()
	if got, _ := out.text(); !strings.HasSuffix(got, "\"five\"}\n") {
		t.Errorf("after a flush %q", got)
	}
}

// TestLogBufferIsBounded: more than there is room for does not wait, and no event is lost or cut.
func TestLogBufferIsBounded(t *testing.T) {
	t.Parallel()
	out := &writes{}
	b := NewLogBuffer(out)
	log := zerolog.New(b)
	long := strings.Repeat("x", 1000)
	const events = 1000
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range events / 10 {
				log.Info().Msg(long)
			}
		})
	}
	all.Wait()
	b.Flush()
	got, many := out.text()
	b.mu.Lock()
	defer b.mu.Unlock()
	want := strings.Repeat(`{"level":"info","message":"`+long+`"}`+"\n", events)
	if got != want || many < len(want)/(2*logRoom) || cap(b.held) > 2*logRoom {
		t.Errorf("%d bytes in %d writes through %d, want %d bytes", len(got), many, cap(b.held), len(want))
	}
}
