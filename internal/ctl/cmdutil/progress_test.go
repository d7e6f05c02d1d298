package cmdutil

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		terminal bool
		items    int
		drawn    bool
	}{{true, 100, true}, {true, 99, false}, {false, 100, false}} {
		var stderr bytes.Buffer
		s := &IOStreams{ErrOut: &stderr, ErrTTY: test.terminal}
		_, end := s.Progress("revoking keys", test.items)
		end()
		got := stderr.String()
		if test.drawn != strings.HasPrefix(got, "\rrevoking keys ["+strings.Repeat(".", 30)+"] 0 of 100\x1b[K") {
			t.Errorf("%+v: %q", test, got)
		}
		if test.drawn != strings.HasSuffix(got, "\r\x1b[K") || (!test.drawn && got != "") {
			t.Errorf("%+v: ends with %q", test, got)
		}
	}
}

// TestProgressOfABlockedTerminal: the work, in whose transaction others wait, goes on.
func TestProgressOfABlockedTerminal(t *testing.T) {
	t.Parallel()
	terminal, out := io.Pipe()
	s := &IOStreams{ErrOut: out, ErrTTY: true}
	add, end := s.Progress("revoking keys", 200)
	for range 200 {
		add()
	}
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(terminal)
		read <- string(text)
	}()
	end()
	assert.NoError(t, out.Close())
	got := <-read
	assert.True(t, strings.HasSuffix(got, "\r\x1b[K"), "ends with", got)
}
