package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"petstore.example/bench/load"
)

// kinds of profiles by pprof's names, and what a person reads of each.
var kinds = []struct{ name, path, index string }{
	{"cpu", "profile", "cpu"},
	{"allocs", "allocs", "alloc_objects"},
}

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

// takeProfiles writes NAME.cpu.pprof and NAME.allocs.pprof, both of the run alone, and their top entries as text beside them.
func (c *contender) takeProfiles(ctx context.Context, wrk *load.Wrk, o *options) error {
	texts := make([][]byte, len(kinds))
	var taking errgroup.Group
	for i, kind := range kinds {
		taking.Go(func() (err error) {
			texts[i], err = c.profile(ctx, fmt.Sprintf("%s?seconds=%d", kind.path, int(profiled.Seconds())-1))
			return err
		})
	}
	run, err := c.run(ctx, o.wrk(wrk, profiled))
	if err := errors.Join(err, taking.Wait()); err != nil {
		return err
	}
	for i, kind := range kinds {
		file := filepath.Join(o.profile, c.Name+"."+kind.name+".pprof")
		if err := os.WriteFile(file, texts[i], 0o644); err != nil {
			return err
		}
		if err := writeTop(ctx, file, kind.index); err != nil {
			return err
		}
		o.say("wrote %s at %.0f requests/s, CPU %v", file, run.RPS, run.CPU)
	}
	return nil
}

// writeTop writes FILE.txt: the functions that cost most by themselves.
func writeTop(ctx context.Context, file, index string) error {
	var complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount=20", "-sample_index="+index, file)
	cmd.Stderr = &complaints
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("read %s: %w: %s", file, err, &complaints)
	}
	return os.WriteFile(file+".txt", text, 0o644)
}
