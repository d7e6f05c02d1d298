package main

import (
	"context"
	"fmt"
	"slices"

	"petstore.example/bench/load"
	"petstore.example/bench/report"
)

// runRounds measures each case once per round, every other round in reverse order.
func (o *options) runRounds(ctx context.Context, cases []*benchCase, drive func(*benchCase) driver) error {
	ordered := slices.Clone(cases)
	for i := range o.rounds {
		for _, c := range ordered {
			run, err := c.run(ctx, drive(c))
			if err != nil {
				return err
			}
			c.Runs = append(c.Runs, run)
			o.logf("round %d of %d  %-20s %8.0f requests/s  CPU %v  p99 %.2f ms  others %.0f %%",
				i+1, o.rounds, c.Name, run.RPS, run.CPU, run.P99.Seconds()*1e3, 100*run.Others)
		}
		slices.Reverse(ordered)
	}
	return nil
}

// runMost warms up all cases, and measures them at their maximum rates.
func (o *options) runMost(ctx context.Context, wrk *load.Wrk, cases []*benchCase) error {
	for _, c := range cases {
		if _, err := c.run(ctx, o.closedLoop(wrk, warmUp)); err != nil {
			return fmt.Errorf("warm up %w", err)
		}
	}
	return o.runRounds(ctx, cases, func(*benchCase) driver { return o.closedLoop(wrk, o.duration) })
}

// halfLoadCases are the cases whose latency is measured at half of their maximum rate.
var halfLoadCases = []string{"list_memory", "list_redis"}

// runHalfLoads measures latencies once the maximum rates are known: of each case and, at the same rate, of its baseline.
func (o *options) runHalfLoads(ctx context.Context, e *env) (reports []*report.HalfLoad, err error) {
	var cases []*benchCase
	rates := map[*benchCase]float64{}
	for _, name := range halfLoadCases {
		if of := e.find(name); of != nil {
			against := e.find(of.Against)
			h := report.NewHalfLoad(of.Series, against.Series)
			reports = append(reports, h)
			for _, c := range []*benchCase{{Series: h.Baseline, request: against.request, on: against.on}, {Series: h.Case, request: of.request, on: of.on}} {
				cases, rates[c] = append(cases, c), h.Rate
			}
		}
	}
	return reports, o.runRounds(ctx, cases, func(c *benchCase) driver { return o.openLoop(rates[c]) })
}
