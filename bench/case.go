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

// contender is one case: what to send where, and whose processor time it costs.
type contender struct {
	*report.Series
	target load.Target
	// processes are those of Series.Servers; all their children count.
	processes []int
	// tidy is called after each run, and ready says whether the servers still do all that they should; both may be nil.
	tidy  func() error
	ready func(context.Context) bool
	// profile returns a profile of the case's server by pprof's name, nil where there is none to take.
	profile func(ctx context.Context, name string) ([]byte, error)
}

// driver sends a target's request over and over.
type driver func(context.Context, load.Target) (load.Result, error)

func (o *options) wrk(wrk *load.Wrk, d time.Duration) driver {
	return func(ctx context.Context, t load.Target) (load.Result, error) { return wrk.Run(ctx, t, o.load(d)) }
}

func (o *options) pace(rate float64) driver {
	return func(ctx context.Context, t load.Target) (load.Result, error) {
		return load.Pace(ctx, t, rate, o.load(o.duration))
	}
}

// tries is how often a run is made anew whose server was degraded at its end.
const tries = 3

// run measures one run. A server that lost its Redis meanwhile, as it may on a machine that halts for a tenth of a second, did
// something else than was to be measured: when it has recovered, the run is made anew.
func (c *contender) run(ctx context.Context, drive driver) (report.Run, error) {
	for range tries {
		run, err := c.measure(ctx, drive)
		if err != nil {
			return run, fmt.Errorf("%s: %w", c.Name, err)
		}
		if c.ready == nil || c.ready(ctx) {
			return run, nil
		}
		if err := c.recover(ctx); err != nil {
			return run, err
		}
	}
	return report.Run{}, fmt.Errorf("%s: the server was degraded after each of %d runs", c.Name, tries)
}

// recover waits until the server is ready.
func (c *contender) recover(ctx context.Context) error {
	for deadline := time.Now().Add(time.Minute); !c.ready(ctx); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("%s: the server stays degraded", c.Name)
		}
	}
	return nil
}

func (c *contender) measure(ctx context.Context, drive driver) (report.Run, error) {
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
	if c.tidy != nil {
		err = c.tidy()
	}
	run := report.Run{RPS: result.RPS(), P50: result.P50, P99: result.P99, Others: after.others(before)}
	for i := range c.processes {
		run.CPU = append(run.CPU, (after.servers[i]-before.servers[i])/time.Duration(result.Requests))
	}
	return run, err
}

// usage is processor time used up to an instant: by each of the case's servers, by all of the benchmark, and by the whole machine.
type usage struct {
	at           time.Time
	servers      []time.Duration
	own, machine time.Duration
}

func (c *contender) usage() (u usage, err error) {
	u.at = time.Now()
	trees, err := cputime.OfTrees(append([]int{os.Getpid()}, c.processes...)...)
	if err != nil {
		return u, err
	}
	u.own, u.servers = trees[0], trees[1:]
	u.machine, err = cputime.OfMachine()
	return u, err
}

// others is the share of the machine that processes used which are no part of the benchmark.
func (u usage) others(before usage) float64 {
	others := (u.machine - before.machine) - (u.own - before.own)
	capacity := u.at.Sub(before.at) * time.Duration(runtime.NumCPU())
	return max(0, float64(others)/float64(capacity))
}
