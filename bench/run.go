package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"petstore.example/bench/cputime"
	"petstore.example/bench/load"
	"petstore.example/bench/must"
	"petstore.example/bench/report"
)

// benchCase is one case: which request to send, and to whom.
type benchCase struct {
	*report.Series
	request
	on *deployment
	// lower is the same case at the next lower rate, if it has one.
	lower *benchCase
	// most is the highest rate so far.
	most float64
}

// maxTries is how often a run is repeated because the server was degraded.
const maxTries = 3

// lostRedis is what the server logs when it is.
const lostRedis = "limits: degraded"

var errLostRedis = errors.New("the server lost Redis")

// run measures one run. A server that lost Redis during the run, as it may when the machine stalls,
// did not do what the case measures: the run is repeated when the server has recovered.
func (c *benchCase) run(ctx context.Context, o load.Options) (report.Run, error) {
	for range maxTries {
		run, err := c.measure(ctx, o)
		// A degraded server's responses may be wrong: that run is repeated too, also if it has
		// recovered.
		if !errors.Is(err, errLostRedis) && c.on.ready(ctx) {
			if err != nil {
				err = fmt.Errorf("%s: %w", c.Name, err)
			}
			return run, err
		}
		for deadline := time.Now().Add(time.Minute); !c.on.ready(ctx); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) || ctx.Err() != nil {
				return run, fmt.Errorf("%s: the server stays degraded", c.Name)
			}
		}
	}
	return report.Run{}, fmt.Errorf("%s: the server was degraded after each of %d runs", c.Name, maxTries)
}

func (c *benchCase) measure(ctx context.Context, o load.Options) (report.Run, error) {
	supplied, err := c.refill(ctx, c.due(o.Duration))
	if err != nil {
		return report.Run{}, err
	}
	var before, after usage
	o.Begin = func() (err error) { before, err = c.usage(); return err }
	o.End = func() (err error) { after, err = c.usage(); return err }
	result, err := load.Run(ctx, c.Target, o)
	if err = c.explain(err); err != nil {
		return report.Run{}, err
	}
	c.most = max(c.most, result.RPS())
	if c.supply != nil && result.Requests > int64(supplied) {
		return report.Run{}, fmt.Errorf("%d requests used up what was supplied for %d", result.Requests, supplied)
	}
	err = c.on.afterRun()
	run := report.Run{
		RPS:    result.RPS(),
		P50:    result.P50,
		P99:    result.P99,
		P999:   result.P999,
		Others: after.others(before),
	}
	for i, name := range c.on.names {
		used := after.servers[i] - before.servers[i]
		if name == postgreSQL {
			used = max(0, used-after.foreignSince(before)) // Both are in units of 10 ms.
		}
		run.CPU = append(run.CPU, used/time.Duration(result.Requests))
	}
	return run, err
}

// leastRate is how many requests per second are supplied at least: a case may have been slow while
// it was warmed up.
const leastRate = 15_000

// due is how many requests a run so long has at most.
func (c *benchCase) due(d time.Duration) int { return int(max(2*c.most, leastRate) * d.Seconds()) }

// refill supplies n requests, and returns n.
func (c *benchCase) refill(ctx context.Context, n int) (int, error) {
	if c.supply == nil {
		return n, nil
	}
	return n, c.supply(c.on.supply, ctx, &c.Target, n)
}

// explain returns the error of a run with what the server logged of it: errLostRedis if the server
// did, and has perhaps recovered since.
func (c *benchCase) explain(err error) error {
	if err == nil || c.on.petstore == nil {
		return err
	}
	// An error of reading the log would say less than the run's.
	if lost, _ := c.on.petstore.Logged(lostRedis, 1); len(lost) > 0 {
		return errors.Join(errLostRedis, c.on.afterRun())
	}
	if failed, _ := c.on.petstore.Logged(`"status":5`, 3); len(failed) > 0 {
		return fmt.Errorf("%w; the server logged:\n%s", err, strings.Join(failed, "\n"))
	}
	return err
}

// usage is the CPU time used so far: by each of the case's servers, by the whole benchmark, by the
// whole machine, and by each of PostgreSQL's processes that works for another deployment's
// database.
type usage struct {
	at           time.Time
	servers      []time.Duration
	own, machine time.Duration
	foreign      map[int]time.Duration
}

func (c *benchCase) usage() (u usage, err error) {
	u.at = time.Now()
	trees, foreign, err := cputime.OfTrees(c.on.isForeign, append([]int{os.Getpid()}, c.on.processes...)...)
	if err != nil {
		return u, err
	}
	u.own, u.servers, u.foreign = trees[0], trees[1:], foreign
	u.machine, err = cputime.OfMachine()
	return u, err
}

// foreignSince returns what the other deployments' servers, which do little while no load comes,
// cost PostgreSQL: as much as 5 µs of a request each at 1,000 a second.
func (u usage) foreignSince(before usage) (sum time.Duration) {
	for pid, used := range u.foreign {
		sum += used - before.foreign[pid]
	}
	return sum
}

// others returns the share of the machine's CPU time that other processes used.
func (u usage) others(before usage) float64 {
	others := (u.machine - before.machine) - (u.own - before.own)
	capacity := u.at.Sub(before.at) * time.Duration(runtime.NumCPU())
	return max(0, float64(others)/float64(capacity))
}

// runRounds warms up all cases, and measures each once per round, every other round in reverse
// order. A case that did not hold a rate is not measured at higher ones, unless others are compared
// with it.
func (o *options) runRounds(ctx context.Context, cases []*benchCase, rounds int, d time.Duration) error {
	warm := map[string]bool{}
	for _, c := range cases {
		name, _, _ := strings.Cut(c.Name, "@")
		if !warm[name] {
			if _, err := c.run(ctx, o.load(warmUp, 0)); err != nil {
				return fmt.Errorf("warm up %w", err)
			}
		}
		warm[name] = true
	}
	ordered := slices.Clone(cases)
	for i := range rounds {
		for _, c := range ordered {
			if c.Against != "" && !c.heldLower() {
				continue
			}
			run, err := c.run(ctx, o.load(d, c.Rate))
			if err != nil {
				return err
			}
			c.Runs = append(c.Runs, run)
			o.logf("round %d of %d  %-22s %8.0f requests/s  CPU %v  p99 %.2f ms  others %.0f %%",
				i+1, rounds, c.Name, run.RPS, run.CPU, run.P99.Seconds()*1e3, 100*run.Others)
		}
		slices.Reverse(ordered)
	}
	return nil
}

// heldLower reports whether the case held all lower rates, as far as it was measured at them.
func (c *benchCase) heldLower() bool {
	return c.lower == nil || c.lower.Held() && c.lower.heldLower()
}

// profileKinds are kinds of profiles by pprof's names, and the sample of each by which its top
// entries are sorted.
var profileKinds = []struct{ name, path, index string }{
	{"cpu", "profile", "cpu"},
	{"allocs", "allocs", "alloc_objects"},
}

// takeProfiles runs each case of petstore once more, and writes NAME.cpu.pprof and
// NAME.allocs.pprof, each with its top entries in a text file beside it. These runs are not part of
// the results.
func (o *options) takeProfiles(ctx context.Context, cases []*benchCase) (err error) {
	defer must.Recover(&err)
	if o.profile == "" {
		return nil
	}
	must.Do(os.MkdirAll(o.profile, 0o755))
	for _, c := range cases {
		if c.on.petstore == nil {
			continue
		}
		must.Get(c.refill(ctx, c.due(profiled))) // It may take longer than the profiles.
		data := make([][]byte, len(profileKinds))
		var taking errgroup.Group
		for i, kind := range profileKinds {
			taking.Go(func() (err error) {
				data[i], err = c.on.petstore.Profile(
					ctx,
					fmt.Sprintf("%s?seconds=%d", kind.path, int(profiled.Seconds())-1),
				)
				return err
			})
		}
		run := must.Get(load.Run(ctx, c.Target, o.load(profiled, c.Rate)))
		must.Do(taking.Wait())
		for i, kind := range profileKinds {
			file := filepath.Join(o.profile, c.Name+"."+kind.name+".pprof")
			must.Do(os.WriteFile(file, data[i], 0o644))
			top := exec.CommandContext(
				ctx,
				"go",
				"tool",
				"pprof",
				"-top",
				"-nodecount=20",
				"-sample_index="+kind.index,
				file,
			)
			must.Do(os.WriteFile(file+".txt", must.Get(top.Output()), 0o644))
			o.logf("wrote %s at %.0f requests/s", file, run.RPS())
		}
	}
	return nil
}
