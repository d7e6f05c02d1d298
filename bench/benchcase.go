package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"petstore.example/bench/cputime"
	"petstore.example/bench/load"
	"petstore.example/bench/report"
)

// benchCase is one case: which request to send, and whose CPU time to measure.
type benchCase struct {
	*report.Series
	target load.Target
	// processes are those of Series.Servers; their children count too.
	processes []int
	// afterRun is called after each run. ready reports whether the server is ready and not degraded. Both may be nil.
	afterRun func() error
	ready    func(context.Context) bool
	// profile returns a profile of the case's server by pprof's name. It may be nil.
	profile func(ctx context.Context, name string) ([]byte, error)
}

// driver sends a target's request over and over.
type driver func(context.Context, load.Target) (load.Result, error)

func (o *options) wrk(wrk *load.Wrk, d time.Duration) driver {
	return func(ctx context.Context, t load.Target) (load.Result, error) { return wrk.Run(ctx, t, o.load(d)) }
}

func (o *options) openLoop(rate float64) driver {
	return func(ctx context.Context, t load.Target) (load.Result, error) {
		return load.OpenLoop(ctx, t, rate, o.load(o.duration))
	}
}

// maxTries is how often a run is repeated because the server was degraded at its end.
const maxTries = 3

// run measures one run. A server that lost Redis during the run, as it may when the machine stalls, did not do what the case
// measures: the run is repeated when the server has recovered.
func (c *benchCase) run(ctx context.Context, drive driver) (report.Run, error) {
	for range maxTries {
		run, err := c.measure(ctx, drive)
		// A degraded server's responses may be wrong: that run is repeated too.
		if c.ready == nil || c.ready(ctx) {
			if err != nil {
				return run, fmt.Errorf("%s: %w", c.Name, err)
			}
			return run, nil
		}
		if err := c.waitReady(ctx); err != nil {
			return run, err
		}
	}
	return report.Run{}, fmt.Errorf("%s: the server was degraded after each of %d runs", c.Name, maxTries)
}

func (c *benchCase) waitReady(ctx context.Context) error {
	for deadline := time.Now().Add(time.Minute); !c.ready(ctx); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("%s: the server stays degraded", c.Name)
		}
	}
	return nil
}

func (c *benchCase) measure(ctx context.Context, drive driver) (report.Run, error) {
	before, err := c.usage()
	if err != nil {
		return report.Run{}, err
	}
	result, err := drive(ctx, c.target)
	if err != nil {
		return report.Run{}, err
	}
	after, err := c.usage()
	if err != nil {
		return report.Run{}, err
	}
	if c.afterRun != nil {
		err = c.afterRun()
	}
	run := report.Run{RPS: result.RPS(), P50: result.P50, P99: result.P99, Others: after.others(before)}
	for i := range c.processes {
		run.CPU = append(run.CPU, (after.servers[i]-before.servers[i])/time.Duration(result.Requests))
	}
	return run, err
}

// usage is the CPU time used so far: by each of the case's servers, by the whole benchmark, and by the whole machine.
type usage struct {
	at           time.Time
	servers      []time.Duration
	own, machine time.Duration
}

func (c *benchCase) usage() (u usage, err error) {
	u.at = time.Now()
	trees, err := cputime.OfTrees(append([]int{os.Getpid()}, c.processes...)...)
	if err != nil {
		return u, err
	}
	u.own, u.servers = trees[0], trees[1:]
	u.machine, err = cputime.OfMachine()
	return u, err
}

// others returns the share of the machine's CPU time that other processes used.
func (u usage) others(before usage) float64 {
	others := (u.machine - before.machine) - (u.own - before.own)
	capacity := u.at.Sub(before.at) * time.Duration(runtime.NumCPU())
	return max(0, float64(others)/float64(capacity))
}
