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
	"strconv"
	"strings"
	"syscall"
	"time"

	"petstore.example/internal/subprocess"
)

// Options configure a run.
type Options struct {
	Connections int
	Threads     int
	Duration    time.Duration // whole seconds, as wrk requires
	// Begin and End, if not nil, are called when the requests that are measured begin, and when they have ended.
	Begin, End func() error
}

// measured calls send between Begin and End.
func (o Options) measured(send func() error) error {
	for _, f := range []func() error{o.Begin, send, o.End} {
		if f == nil {
			continue
		}
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// Result is what one run measured.
type Result struct {
	Requests int64
	Elapsed  time.Duration
	P50, P99 time.Duration
}

// RPS returns the requests per second.
func (r Result) RPS() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

// Wrk is an installed wrk.
type Wrk struct{ path string }

// FindWrk finds wrk in PATH.
func FindWrk() (*Wrk, error) {
	path, err := exec.LookPath("wrk")
	if err != nil {
		return nil, fmt.Errorf("%w: install it with tools/install.sh wrk, as make bench does", err)
	}
	return &Wrk{path}, nil
}

// Version returns wrk's version, as "4.1.0".
func (w *Wrk) Version(ctx context.Context) string {
	// wrk -v prints its version, then its usage, and fails.
	out, _ := exec.CommandContext(ctx, w.path, "-v").CombinedOutput()
	return string(regexp.MustCompile(`\d+\.\d+\.\d+`).Find(out))
}

// Run sends the target's request over and over. The error says why the run is not valid.
func (w *Wrk) Run(ctx context.Context, t Target, o Options) (Result, error) {
	before, err := t.check(ctx)
	if err != nil {
		return Result{}, err
	}
	var s summary
	err = o.measured(func() (err error) {
		s, err = w.drive(ctx, t, o)
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("run wrk: %w", err)
	}
	after, err := t.check(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("after the run: %w", err)
	}
	return s.result(), errors.Join(
		s.check(t, min(before.Size, after.Size), max(before.Size, after.Size), o.Connections),
		t.checkCount(before, after, s.Requests, int64(o.Connections)))
}

// drive runs wrk and returns its summary.
func (w *Wrk) drive(ctx context.Context, t Target, o Options) (summary, error) {
	dir, err := os.MkdirTemp("", "petstore-wrk-")
	if err != nil {
		return summary{}, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "run.lua")
	// In a private file the API key does not show in the list of processes.
	if err := os.WriteFile(file, []byte(script(t, o.Threads)), 0o600); err != nil {
		return summary{}, err
	}
	out, err := run(ctx, o.Duration+time.Minute, w.path,
		"--threads", strconv.Itoa(o.Threads), "--connections", strconv.Itoa(o.Connections),
		"--duration", fmt.Sprintf("%.0fs", o.Duration.Seconds()), "--timeout", "10s", "--script", file, strings.ReplaceAll(t.URL, "{id}", "0"))
	if err != nil {
		return summary{}, err
	}
	return parseSummary(out)
}

// run runs a command, and kills it when ctx ends or after the timeout.
func run(ctx context.Context, timeout time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	p, err := subprocess.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return "", err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), p.Stop(ctx, 10*time.Second, syscall.SIGKILL))
	}
	if err := p.Err(); err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}

// summary is what report.lua prints.
type summary struct {
	Requests int64   `json:"requests"`
	Micros   int64   `json:"micros"`
	Bytes    int64   `json:"bytes"`
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`

	Connect int64 `json:"connect"`
	Read    int64 `json:"read"`
	Write   int64 `json:"write"`
	Timeout int64 `json:"timeout"`
	Status  int64 `json:"status"` // responses with 400 or more
}

const marker = "PETSTORE-BENCH "

func parseSummary(out string) (summary, error) {
	_, text, found := strings.Cut(out, marker)
	if !found {
		return summary{}, fmt.Errorf("it printed no summary: %s", strings.TrimSpace(out))
	}
	line, _, _ := strings.Cut(text, "\n")
	var s summary
	if err := json.Unmarshal([]byte(line), &s); err != nil {
		return summary{}, fmt.Errorf("its summary %q: %w", line, err)
	}
	return s, nil
}

// slack is by how many bytes the size of a response may change during a run: some numbers in its headers lose a digit.
const slack = 4

// check returns an error unless every response was right as far as wrk can tell. The size of a response is between least and most
// bytes; at the end of a run each connection may have read a part of a response that is not counted.
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
		return fmt.Errorf("%d of %d responses had a status of 400 or more, want %d for all", s.Status, s.Requests, t.Status)
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
	return Result{
		Requests: s.Requests,
		Elapsed:  time.Duration(s.Micros) * time.Microsecond,
		P50:      time.Duration(s.P50 * float64(time.Microsecond)),
		P99:      time.Duration(s.P99 * float64(time.Microsecond)),
	}
}
