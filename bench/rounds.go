package main

import (
	"context"
	"fmt"
	"slices"

	"petstore.example/bench/load"
	"petstore.example/bench/report"
)

// rounds warms all cases up and then measures each once a round, every other round in the opposite order.
func rounds(ctx context.Context, o *options, wrk *load.Wrk, cases []*contender) error {
	for _, c := range cases {
		if _, err := c.run(ctx, o.wrk(wrk, warmUp)); err != nil {
			return fmt.Errorf("warm up %w", err)
		}
	}
	turn := slices.Clone(cases)
	for i := range o.rounds {
		for _, c := range turn {
			run, err := c.run(ctx, o.wrk(wrk, o.duration))
			if err != nil {
				return err
			}
			c.Runs = append(c.Runs, run)
			o.sayRun(i, c.Name, run)
		}
		slices.Reverse(turn)
	}
	return nil
}

func (o *options) sayRun(round int, name string, run report.Run) {
	o.say("round %d of %d  %-20s %8.0f requests/s  CPU %v  p99 %.2f ms  others %.0f %%",
		round+1, o.rounds, name, run.RPS, run.CPU, run.P99.Seconds()*1e3, 100*run.Others)
}

// half is a case at half of the rate that it carries at most, and the baseline at the same rate.
type half struct {
	*report.Half
	of, against *contender
}

// halves measures latencies at half of the maximum, once the maximum is known.
func halves(ctx context.Context, o *options, s *stage) ([]*report.Half, error) {
	var all []half
	var reports []*report.Half
	for _, name := range []string{"list_memory", "list_redis"} {
		of := s.named(name)
		if of == nil {
			continue
		}
		against := s.named("bare_gin")
		h := half{report.NewHalf(of.Series, against.Series), of, against}
		all, reports = append(all, h), append(reports, h.Half)
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

func (h half) measure(ctx context.Context, o *options, round int) error {
	for _, side := range []struct {
		c    *contender
		into *report.Series
	}{{h.against, h.Baseline}, {h.of, h.Case}} {
		run, err := side.c.run(ctx, o.pace(h.Rate))
		if err != nil {
			return err
		}
		side.into.Runs = append(side.into.Runs, run)
		o.sayRun(round, fmt.Sprintf("%s at %.0f/s", side.c.Name, h.Rate), run)
	}
	return nil
}
