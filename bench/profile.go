package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"petstore.example/bench/load"
)

// profiles runs each case that has a profile to take once more, taking it. These runs don't count.
func profiles(ctx context.Context, o *options, wrk *load.Wrk, cases []*contender) error {
	if o.profile == "" {
		return nil
	}
	if err := os.MkdirAll(o.profile, 0o755); err != nil {
		return err
	}
	for _, c := range cases {
		if c.profile == nil {
			continue
		}
		if err := c.takeProfiles(ctx, wrk, o); err != nil {
			return fmt.Errorf("profile %s: %w", c.Name, err)
		}
	}
	return nil
}

// takeProfiles writes NAME.cpu.pprof and NAME.allocs.pprof; the latter is of the server's whole life.
func (c *contender) takeProfiles(ctx context.Context, wrk *load.Wrk, o *options) error {
	cpu, failed := make(chan []byte, 1), make(chan error, 1)
	go func() {
		text, err := c.profile(ctx, fmt.Sprintf("profile?seconds=%d", int(profiled.Seconds())-1))
		cpu <- text
		failed <- err
	}()
	run, err := c.run(ctx, wrk, o.load(profiled))
	text := <-cpu
	if err := errors.Join(err, <-failed); err != nil {
		return err
	}
	allocations, err := c.profile(ctx, "allocs")
	if err != nil {
		return err
	}
	for kind, text := range map[string][]byte{"cpu": text, "allocs": allocations} {
		file := filepath.Join(o.profile, c.Name+"."+kind+".pprof")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
		o.say("wrote %s at %.0f requests/s, CPU %v", file, run.RPS, run.CPU)
	}
	return nil
}
