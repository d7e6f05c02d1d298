package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"petstore.example/bench/load"
	"petstore.example/bench/must"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
)

// benchCase is one case: a request, and the deployment that gets it.
type benchCase struct {
	*report.Series
	request
	deployed string // the name of on
	on       deployment
	// most is the highest rate measured so far.
	most float64
}

const (
	// maxTries is how often a run is tried.
	maxTries = 3
	// leastRate is the least number of requests per second to supply for: a case may have been slow
	// in its warm-up.
	leastRate = 15_000
)

// run measures one run. It repeats an invalid run. If the server is degraded after a run, it waits
// until the server has recovered and repeats the run: the machine may have stalled, so that Redis
// was lost.
func (e *env) run(ctx context.Context, c *benchCase, d time.Duration, rate float64) (run report.Run, err error) {
	for try := range maxTries {
		run, err = c.measure(ctx, e.load(d, rate))
		err = errors.Join(err, servers.EmptyLogs(e.dir)) // Logs of every request would fill the disk.
		if err == nil && !c.on.ready(ctx) {
			err = errors.New("the server was degraded")
		}
		if err == nil || ctx.Err() != nil {
			break
		}
		e.logf("run %d of %s is not valid: %v", try+1, c.Name, err)
		for end := time.Now().Add(time.Minute); !c.on.ready(ctx) && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond) // A degraded server recovers by itself.
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", c.Name, err)
	}
	return run, err
}

func (c *benchCase) measure(ctx context.Context, o load.Options) (report.Run, error) {
	supplied := int(max(2*c.most, leastRate) * o.Duration.Seconds())
	if err := c.refill(ctx, supplied); err != nil {
		return report.Run{}, err
	}
	var before, after []time.Duration
	o.Begin = func() (err error) { before, err = c.on.cpu(); return err }
	o.End = func() (err error) { after, err = c.on.cpu(); return err }
	result, err := load.Run(ctx, c.Target, o)
	if err != nil {
		return report.Run{}, err
	}
	c.most = max(c.most, result.RPS())
	if c.supply != nil && result.Requests > int64(supplied) {
		return report.Run{}, fmt.Errorf("%d requests used up what was supplied for %d", result.Requests, supplied)
	}
	run := report.Run{RPS: result.RPS(), P50: result.P50, P99: result.P99}
	for i := range after {
		run.CPU = append(run.CPU, (after[i]-before[i])/time.Duration(result.Requests))
	}
	return run, nil
}

// refill supplies n requests.
func (c *benchCase) refill(ctx context.Context, n int) error {
	if c.supply == nil {
		return nil
	}
	return c.supply(c.on.supply, ctx, &c.Target, n)
}

// runRounds warms up all cases, and measures each once per round; every other round is in reverse
// order.
func (e *env) runRounds(ctx context.Context) error {
	for _, c := range e.cases {
		if _, err := e.run(ctx, c, warmUp, 0); err != nil {
			return fmt.Errorf("warm up %w", err)
		}
	}
	ordered := slices.Clone(e.cases)
	for i := range e.rounds {
		for _, c := range ordered {
			rounds, d := e.plan(c)
			if i >= rounds {
				continue
			}
			run, err := e.run(ctx, c, d, c.Rate)
			if err != nil {
				return err
			}
			c.Runs = append(c.Runs, run)
			e.logf("round %d  %-22s %8.0f requests/s  CPU %v  p99 %.1f ms", i+1, c.Name, run.RPS, run.CPU, run.P99/1e3)
		}
		slices.Reverse(ordered)
	}
	return nil
}

// profileKinds are the kinds of profiles: pprof's name, path, and the sample type by which the top
// entries are sorted.
var profileKinds = []struct{ name, path, index string }{
	{"cpu", "profile", "cpu"},
	{"allocs", "allocs", "alloc_objects"},
}

// takeProfiles runs each case of petstore once more, and writes NAME.cpu.pprof and
// NAME.allocs.pprof. Beside each is a text file with its top entries. These runs are not part of
// the results.
func (e *env) takeProfiles(ctx context.Context) (err error) {
	defer must.Recover(&err)
	if e.profile == "" {
		return nil
	}
	must.Do(os.MkdirAll(e.profile, 0o755))
	for _, c := range e.cases {
		if c.on.petstore == nil {
			continue
		}
		must.Do(
			c.refill(ctx, int(max(2*c.most, leastRate)*profiled.Seconds())),
		) // The run may outlast the profiles.
		data := make([][]byte, len(profileKinds))
		var taking errgroup.Group
		for i, kind := range profileKinds {
			taking.Go(func() (err error) {
				path := fmt.Sprintf("%s?seconds=%d", kind.path, int(profiled.Seconds())-1)
				data[i], err = servers.Profile(ctx, c.on.petstore, path)
				return err
			})
		}
		run := must.Get(load.Run(ctx, c.Target, e.load(profiled, c.Rate)))
		must.Do(taking.Wait())
		for i, kind := range profileKinds {
			file := filepath.Join(e.profile, c.Name+"."+kind.name+".pprof")
			must.Do(os.WriteFile(file, data[i], 0o644))
			args := []string{"tool", "pprof", "-top", "-nodecount=20", "-sample_index=" + kind.index, file}
			must.Do(os.WriteFile(file+".txt", must.Get(exec.CommandContext(ctx, "go", args...).Output()), 0o644))
			e.logf("wrote %s at %.0f requests/s", file, run.RPS())
		}
	}
	return nil
}
