package main

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

type request struct {
	context.Context
	at time.Time
}

func (r request) Ended() time.Time { return r.at }

// TestStampOfRequest: a request's event has the time at which it ended, any other the present.
func TestStampOfRequest(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := zerolog.New(&out).Hook(&stamp{})
	then := time.Date(2026, time.November, 20, 9, 21, 48, 7_000_000, time.UTC)
	log.Info().Ctx(request{t.Context(), then}).Msg("request")
	if want := `{"level":"info","time":"2026-11-20T09:21:48.007Z","message":"request"}` + "\n"; out.String() != want {
		t.Errorf("got %s, want %s", &out, want)
	}
	out.Reset()
	year := time.Now().Format(`"time":"2006-`)
	log.Info().Msg("start")
	if !bytes.Contains(out.Bytes(), []byte(year)) && !bytes.Contains(out.Bytes(), []byte(time.Now().Format(`"time":"2006-`))) {
		t.Errorf("got %s, want the present", &out)
	}
}

func TestStamp(t *testing.T) {
	t.Parallel()
	s := &stamp{}
	east := time.FixedZone("", 5*3600+30*60)
	for _, now := range []time.Time{
		time.Date(2026, time.November, 20, 9, 21, 48, 0, time.UTC),
		time.Date(2026, time.November, 20, 9, 21, 48, 7_999_999, time.UTC),
		time.Date(2026, time.November, 20, 9, 21, 49, 999_999_999, time.UTC),
		time.Date(2026, time.November, 20, 9, 21, 48, 120_000_000, east),
		time.Date(1969, time.December, 31, 23, 59, 59, 45_000_000, time.UTC),
	} {
		want := now.Format(`"2006-01-02T15:04:05.000Z07:00"`)
		if got := string(s.append(nil, now)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func benchmarkStamp(ctx context.Context, b *testing.B) {
	b.Helper()
	log := zerolog.New(io.Discard).Hook(&stamp{})
	for b.Loop() {
		log.Info().Ctx(ctx).Msg("request")
	}
}

// BenchmarkStamp is an event whose time is asked for, BenchmarkStampOfRequest one that has it.
func BenchmarkStamp(b *testing.B) { benchmarkStamp(b.Context(), b) }

func BenchmarkStampOfRequest(b *testing.B) {
	benchmarkStamp(&request{b.Context(), time.Now()}, b)
}
