package server

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	"petstore.example/internal/storeclock"
	"petstore.example/internal/test/assert"
)

// setStore is a store whose clock is set.
type setStore struct {
	cluster.Store
	by  time.Duration
	err error
}

func (s *setStore) Renew(context.Context, cluster.Heartbeat) (cluster.State, error) {
	return cluster.State{Now: time.Now().Add(s.by)}, s.err
}

// TestClockThatIsOff: it is logged once, and noted until that succeeds, when it begins to be off,
// changes and ends.
func TestClockThatIsOff(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var noted []time.Duration
	away := errors.New("away")
	var noteErr error
	s := &setStore{}
	r := &clockRenewals{
		Store: s,
		clock: storeclock.New(),
		log:   zerolog.New(&log),
		note: func(_ context.Context, id string, ahead time.Duration) error {
			assert.Equal(t, id, "a", "noted for")
			noted = append(noted, ahead.Round(time.Minute))
			return noteErr
		},
	}
	renew := func(by time.Duration) {
		s.by = by
		_, err := r.Renew(t.Context(), cluster.Heartbeat{ServerID: "a"})
		assert.ErrorIs(t, err, s.err, "Renew")
	}
	renew(0)
	noteErr = away
	renew(-25 * time.Hour)
	noteErr = nil
	renew(-25 * time.Hour)
	renew(-25 * time.Hour)
	if now := r.clock.Now(); time.Until(now).Abs() < 24*time.Hour || !r.clock.Off() {
		t.Errorf("an instant is %v", now)
	}
	r.notedAt = time.Now().Add(-noteEvery)
	renew(-25 * time.Hour)
	renew(5 * time.Minute)
	s.err = away
	renew(0)
	s.err = nil
	renew(0)
	renew(0)
	const day = 25 * time.Hour
	assert.DeepEqual(t, noted, []time.Duration{day, day, day, -5 * time.Minute, 0}, "noted")
	text := log.String()
	if strings.Count(text, "25h0m0s ahead of that of Postgres") != 1 || strings.Count(text, "right again") != 1 ||
		strings.Count(text, "\n") != 2 {
		t.Errorf("logged:\n%s", text)
	}
}
