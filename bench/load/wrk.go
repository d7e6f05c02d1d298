// Package load sends one request to an HTTP server over and over with wrk, at a fixed rate or as
// fast as the responses arrive, and verifies the responses.
//
// A run is valid only if every response had the kind of status that the target expects (400 or
// more, or less), no connection failed or timed out, the average size of the responses was right,
// and the requests just before and just after the run got exactly the expected status and body.
// Otherwise the run returns an error.
package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Options configure a run.
type Options struct {
	Connections int
	Threads     int
	Duration    time.Duration // whole seconds, as wrk requires
	// Rate is the number of requests due per second, however fast the responses arrive; 0 for as
	// many as they allow. Result.RPS tells whether the server kept up.
	Rate float64
	// Begin and End, if not nil, are called at the begin and after the end of the measured
	// requests.
	Begin, End func() error
}

// Result is the measurement of one run, as report.lua prints it.
type Result struct {
	Requests int64 `json:"requests"`
	Micros   int64 `json:"micros"` // the run's length
	Bytes    int64 `json:"bytes"`
	// Latencies are in µs, from the sending of a request. If requests were due while no connection
	// was free, wrk adds their latencies.
	P50 float64 `json:"p50_us"`
	P99 float64 `json:"p99_us"`

	Failed   int64 `json:"failed"`    // to connect, to read or to write
	TimedOut int64 `json:"timed_out"` // requests
	Refused  int64 `json:"refused"`   // responses with 400 or more
}

// RPS returns the requests per second.
func (r Result) RPS() float64 { return 1e6 * float64(r.Requests) / float64(r.Micros) }

// Run sends the target's request over and over. The requests just before and just after must get
// the right response. The error says why the run is not valid.
func Run(ctx context.Context, t Target, o Options) (Result, error) {
	before, err := t.Check(ctx)
	if err != nil {
		return Result{}, err
	}
	var r Result
	for _, f := range []func() error{o.Begin, func() (err error) { r, err = drive(ctx, t, o); return err }, o.End} {
		if f != nil {
			if err := f(); err != nil {
				return Result{}, err
			}
		}
	}
	after, err := t.Check(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("after the run: %w", err)
	}
	return r, r.check(t, min(before.Size, after.Size), max(before.Size, after.Size), o.Connections)
}

// drive runs wrk.
func drive(ctx context.Context, t Target, o Options) (r Result, err error) {
	dir, err := os.MkdirTemp("", "petstore-wrk-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "run.lua")
	// The file is private, so that the API key does not show in the list of processes.
	if err := os.WriteFile(file, []byte(script(t, o)), 0o600); err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Duration+time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "wrk",
		"--threads", strconv.Itoa(o.Threads), "--connections", strconv.Itoa(o.Connections),
		"--duration", fmt.Sprintf("%.0fs", o.Duration.Seconds()), "--timeout", "10s",
		"--script", file, strings.ReplaceAll(t.URL, "{id}", "0")).CombinedOutput()
	if err != nil {
		return r, fmt.Errorf("run wrk: %w: %s", err, bytes.TrimSpace(out))
	}
	_, text, found := strings.Cut(string(out), "PETSTORE-BENCH ")
	if !found {
		return r, fmt.Errorf("wrk printed no summary: %s", out)
	}
	line, _, _ := strings.Cut(text, "\n")
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return r, fmt.Errorf("the summary of wrk %q: %w", line, err)
	}
	return r, nil
}

// slack is by how many bytes the size of a response may change during a run, as some numbers in its
// headers lose a digit.
const slack = 4

// check returns an error unless every response was right as far as wrk can tell. A response must
// have between least and most bytes. At the end of a run each connection may have read a part of a
// response that is not counted.
func (r Result) check(t Target, least, most int64, connections int) error {
	mean := float64(r.Bytes) / float64(max(1, r.Requests))
	unfinished := float64(int64(connections)*most) / float64(max(1, r.Requests))
	refused := r.Refused
	if t.Status >= http.StatusBadRequest {
		refused = r.Requests - r.Refused
	}
	switch {
	case r.Requests == 0:
		return errors.New("there was no response")
	case refused > t.MaxOther:
		return fmt.Errorf("%d of %d responses had a status of 400 or more, want %d for all",
			r.Refused, r.Requests, t.Status)
	case r.Failed+r.TimedOut > 0:
		return fmt.Errorf("of %d requests %d failed and %d timed out", r.Requests, r.Failed, r.TimedOut)
	case t.Writes > 0: // There are two kinds of responses, so least and most say nothing.
	case mean < float64(least-slack) || mean > float64(most+slack)+unfinished:
		return fmt.Errorf("the responses had %.1f bytes on average, want %d to %d", mean, least, most)
	}
	return nil
}
