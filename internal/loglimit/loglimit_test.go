package loglimit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/test/assert"
)

// buffer is an io.Writer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// line is one line of a log, without its time.
type line struct {
	Level, Message, Error string
	Suppressed            int64
}

func (b *buffer) lines(t *testing.T) (all []line) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for text := range strings.Lines(b.b.String()) {
		var l line
		assert.NoError(t, json.Unmarshal([]byte(text), &l))
		all = append(all, l)
	}
	return all
}

// TestOneLineASecond: of a flood one line a second is written, with the number of those before, and
// other kinds are not held back.
func TestOneLineASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out buffer
		log := Log(zerolog.New(&out))
		for i := range 2500 {
			log.Error().Err(fmt.Errorf("attempt %d", i)).Msg("database away")
			time.Sleep(time.Millisecond)
		}
		log.Warn().Msg("clock off")
		log.Warn().Msg("database away")
		for range 3 {
			log.Info().Msg("serving")
		}
		time.Sleep(time.Minute)
		want := []line{
			{"error", "database away", "attempt 0", 0},
			{"error", "database away", "attempt 1000", 999},
			{"error", "database away", "attempt 2000", 999},
			{"warn", "clock off", "", 0},
			{"warn", "database away", "", 0},
			{"info", "serving", "", 0},
			{"info", "serving", "", 0},
			{"info", "serving", "", 0},
			// Nothing followed that could have said it.
			{"error", "database away", "", 499},
		}
		assert.DeepEqual(t, out.lines(t), want)
	})
}

// TestEveryLineIsCounted: lines of several goroutines are written or counted, each once, and never
// two within a second.
func TestEveryLineIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const writers, each = 8, 900
		var mu sync.Mutex
		var at []time.Time
		var sum int64
		wrote := func(suppressed int64) {
			mu.Lock()
			defer mu.Unlock()
			at, sum = append(at, time.Now()), sum+suppressed
		}
		l := New(func(_ string, suppressed int64) { wrote(suppressed - 1) })
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					if ok, suppressed := l.Allow("x"); ok {
						wrote(suppressed)
					}
					time.Sleep(time.Duration(1+(w*7+i*13)%20) * time.Millisecond)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, sum+int64(len(at)), writers*each, "lines written or counted")
		for i := range at[1:] {
			d := at[i+1].Sub(at[i])
			assert.True(t, d >= Period, "two lines within", d)
		}
	})
}

// TestMessagesAreBounded: messages that differ each time do not fill the memory, and are one kind
// from some number on.
func TestMessagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // No second passes meanwhile.
		var out buffer
		log := Log(zerolog.New(&out))
		for i := range 10 * maxMessages {
			log.Error().Err(errors.New("x")).Msgf("message %d", i)
		}
		assert.Equal(t, len(out.lines(t)), maxMessages+1, "lines")
		time.Sleep(time.Minute)
	})
}
