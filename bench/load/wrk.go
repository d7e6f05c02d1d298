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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options configure a run.
type Options struct {
	Connections int
	Threads     int
	Duration    time.Duration // whole seconds, as wrk requires
	// Rate is how many requests per second are due, however fast the responses arrive; 0 for as
	// many as they allow. Result.RPS tells whether the server held it.
	Rate float64
	// Begin and End, if not nil, are called when the requests that are measured begin, and when
	// they have ended.
	Begin, End func() error
}

// run calls send between Begin and End. The request just before and the one just after must get the
// right response, whose sizes it returns, and all must be counted; up to unfinished ones, whose
// responses came too late, may be.
func (o Options) run(
	ctx context.Context,
	t Target,
	unfinished int,
	send func() (Result, error),
) (r Result, sizes []int64, err error) {
	before, err := t.Check(ctx)
	if err != nil {
		return r, nil, err
	}
	for _, f := range []func() error{o.Begin, func() (err error) { r, err = send(); return err }, o.End} {
		if f != nil {
			if err := f(); err != nil {
				return r, nil, err
			}
		}
	}
	after, err := t.Check(ctx)
	if err != nil {
		return r, nil, fmt.Errorf("after the run: %w", err)
	}
	return r, []int64{before.Size, after.Size}, t.checkCount(before, after, r.Requests, int64(unfinished))
}

// Result is what one run measured.
type Result struct {
	Requests int64
	Elapsed  time.Duration
	// Latencies, from the sending of a request. When no connection was free, wrk adds those of the
	// requests that were due meanwhile.
	P50, P99, P999 time.Duration
}

// resultOf returns the result of requests that took so long.
func resultOf(elapsed time.Duration, took ...[]time.Duration) Result {
	all := slices.Concat(took...)
	slices.Sort(all)
	n := len(all)
	return Result{int64(n), elapsed, all[n/2], all[n*99/100], all[n*999/1000]}
}

// RPS returns the requests per second.
func (r Result) RPS() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

// WrkVersion returns the version of the installed wrk, as "4.1.0".
func WrkVersion(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("wrk"); err != nil {
		return "", fmt.Errorf("%w: install it with tools/install.sh wrk, as make bench does", err)
	}
	// wrk -v prints its version, then its usage, and fails.
	out, _ := exec.CommandContext(ctx, "wrk", "-v").CombinedOutput()
	return string(regexp.MustCompile(`\d+\.\d+\.\d+`).Find(out)), nil
}

// Run sends the target's request over and over: with wrk, unless the target has clients. The error
// says why the run is not valid.
func Run(ctx context.Context, t Target, o Options) (Result, error) {
	if t.Clients > 0 {
		return closedLoop(ctx, t, o)
	}
	var s summary
	r, sizes, err := o.run(ctx, t, o.Connections, func() (r Result, err error) {
		if s, err = drive(ctx, t, o); err != nil {
			return r, fmt.Errorf("run wrk: %w", err)
		}
		return s.result(), nil
	})
	if err != nil {
		return Result{}, err
	}
	return r, s.check(t, slices.Min(sizes), slices.Max(sizes), o.Connections)
}

// drive runs wrk and returns its summary.
func drive(ctx context.Context, t Target, o Options) (s summary, err error) {
	dir, err := os.MkdirTemp("", "petstore-wrk-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "run.lua")
	// In a private file the API key does not show in the list of processes.
	if err := os.WriteFile(file, []byte(script(t, o)), 0o600); err != nil {
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Duration+time.Minute)
	defer cancel()
	out, err := exec.CommandContext(
		ctx,
		"wrk",
		"--threads",
		strconv.Itoa(o.Threads),
		"--connections",
		strconv.Itoa(o.Connections),
		"--duration",
		fmt.Sprintf("%.0fs", o.Duration.Seconds()),
		"--timeout",
		"10s",
		"--script",
		file,
		strings.ReplaceAll(t.URL, "{id}", "0"),
	).CombinedOutput()
	if err != nil {
		return s, fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	_, text, found := strings.Cut(string(out), "PETSTORE-BENCH ")
	if !found {
		return s, fmt.Errorf("it printed no summary: %s", out)
	}
	line, _, _ := strings.Cut(text, "\n")
	if err := json.Unmarshal([]byte(line), &s); err != nil {
		return s, fmt.Errorf("its summary %q: %w", line, err)
	}
	return s, nil
}

// summary is what report.lua prints.
type summary struct {
	Requests int64   `json:"requests"`
	Micros   int64   `json:"micros"`
	Bytes    int64   `json:"bytes"`
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	P999     float64 `json:"p999_us"`

	Connect int64 `json:"connect"`
	Read    int64 `json:"read"`
	Write   int64 `json:"write"`
	Timeout int64 `json:"timeout"`
	Status  int64 `json:"status"` // responses with 400 or more
}

// slack is by how many bytes the size of a response may change during a run: some numbers in its
// headers lose a digit.
const slack = 4

// check returns an error unless every response was right as far as wrk can tell. The size of a
// response is between least and most bytes; at the end of a run each connection may have read a
// part of a response that is not counted.
func (s summary) check(t Target, least, most int64, connections int) error {
	mean := float64(s.Bytes) / float64(max(1, s.Requests))
	unfinished := float64(int64(connections)*most) / float64(max(1, s.Requests))
	refused := s.Status
	if t.Status >= http.StatusBadRequest {
		refused = s.Requests - s.Status
	}
	switch {
	case s.Requests == 0:
		return errors.New("there was no response")
	case refused > t.MaxOther:
		return fmt.Errorf(
			"%d of %d responses had a status of 400 or more, want %d for all",
			s.Status,
			s.Requests,
			t.Status,
		)
	case s.Connect+s.Read+s.Write+s.Timeout > 0:
		return fmt.Errorf("of %d requests %d failed to connect, %d to read, %d to write, and %d timed out",
			s.Requests, s.Connect, s.Read, s.Write, s.Timeout)
	case t.Writes > 0: // Two kinds of responses, of which least and most say nothing.
	case mean < float64(least-slack) || mean > float64(most+slack)+unfinished:
		return fmt.Errorf("the responses had %.1f bytes on average, want %d to %d", mean, least, most)
	}
	return nil
}

func (s summary) result() Result {
	micros := func(n float64) time.Duration { return time.Duration(n * float64(time.Microsecond)) }
	return Result{s.Requests, micros(float64(s.Micros)), micros(s.P50), micros(s.P99), micros(s.P999)}
}
