package main

import (
	"context"
	"fmt"
	"slices"

	"petstore.example/bench/load"
	"petstore.example/bench/report"
)

// runRounds warms up all cases and then measures each once per round, every other round in reverse order.
func runRounds(ctx context.Context, o *options, wrk *load.Wrk, cases []*benchCase) error {
	for _, c := range cases {
		if _, err := c.run(ctx, o.closedLoop(wrk, warmUp)); err != nil {
			return fmt.Errorf("warm up %w", err)
		}
	}
	ordered := slices.Clone(cases)
	for i := range o.rounds {
		for _, c := range ordered {
			run, err := c.run(ctx, o.closedLoop(wrk, o.duration))
			if err != nil {
				return err
			}
			c.Runs = append(c.Runs, run)
			o.logRun(i, c.Name, run)
		}
		slices.Reverse(ordered)
	}
	return nil
}

func (o *options) logRun(round int, name string, run report.Run) {
	o.logf("round %d of %d  %-20s %8.0f requests/s  CPU %v  p99 %.2f ms  others %.0f %%",
		round+1, o.rounds, name, run.RPS, run.CPU, run.P99.Seconds()*1e3, 100*run.Others)
}

// halfLoad is a case and its baseline, both at half of the case's maximum rate.
type halfLoad struct {
	*report.HalfLoad
	of, against *benchCase
}

// halfLoadCases are the cases whose latency is measured at half of their maximum rate.
var halfLoadCases = []string{"list_memory", "list_redis"}

// runHalfLoads measures latencies once the maximum rates are known.
func runHalfLoads(ctx context.Context, o *options, e *env) ([]*report.HalfLoad, error) {
	var all []halfLoad
	var reports []*report.HalfLoad
	for _, name := range halfLoadCases {
		of := e.find(name)
		if of == nil {
			continue
		}
		against := e.find(of.Against)
		h := halfLoad{report.NewHalfLoad(of.Series, against.Series), of, against}
		all, reports = append(all, h), append(reports, h.HalfLoad)
	}
	for i := range o.rounds {
		for _, h := range all {
			if err := h.measure(ctx, o, i); err != nil {
				return nil, err
			}
		}
	}
	return reports, nil
}

func (h halfLoad) measure(ctx context.Context, o *options, round int) error {
	for _, side := range []struct {
		c    *benchCase
		into *report.Series
	}{{h.against, h.Baseline}, {h.of, h.Case}} {
		run, err := side.c.run(ctx, o.openLoop(h.Rate))
		if err != nil {
			return err
		}
		side.into.Runs = append(side.into.Runs, run)
		o.logRun(round, fmt.Sprintf("%s at %.0f/s", side.c.Name, h.Rate), run)
	}
	return nil
}
