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

// profileKinds are kinds of profiles by pprof's names, and the sample of each that writeTop sorts by.
var profileKinds = []struct{ name, path, index string }{
	{"cpu", "profile", "cpu"},
	{"allocs", "allocs", "alloc_objects"},
}

// profiles runs each case of petstore once more while it takes profiles. These runs are not part of the results.
func profiles(ctx context.Context, o *options, wrk *load.Wrk, cases []*benchCase) error {
	if o.profile == "" {
		return nil
	}
	if err := os.MkdirAll(o.profile, 0o755); err != nil {
		return err
	}
	for _, c := range cases {
		if c.on.petstore == nil {
			continue
		}
		if err := c.takeProfiles(ctx, wrk, o); err != nil {
			return fmt.Errorf("profile %s: %w", c.Name, err)
		}
	}
	return nil
}

// takeProfiles writes NAME.cpu.pprof and NAME.allocs.pprof of one run, each with its top entries in a text file beside it.
func (c *benchCase) takeProfiles(ctx context.Context, wrk *load.Wrk, o *options) error {
	data := make([][]byte, len(profileKinds))
	var taking errgroup.Group
	for i, kind := range profileKinds {
		taking.Go(func() (err error) {
			data[i], err = c.on.petstore.Profile(ctx, fmt.Sprintf("%s?seconds=%d", kind.path, int(profiled.Seconds())-1))
			return err
		})
	}
	run, err := c.run(ctx, o.closedLoop(wrk, profiled))
	if err := errors.Join(err, taking.Wait()); err != nil {
		return err
	}
	for i, kind := range profileKinds {
		file := filepath.Join(o.profile, c.Name+"."+kind.name+".pprof")
		if err := os.WriteFile(file, data[i], 0o644); err != nil {
			return err
		}
		if err := writeTop(ctx, file, kind.index); err != nil {
			return err
		}
		o.logf("wrote %s at %.0f requests/s, CPU %v", file, run.RPS, run.CPU)
	}
	return nil
}

// writeTop writes FILE.txt: the functions with the highest own cost.
func writeTop(ctx context.Context, file, index string) error {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount=20", "-sample_index="+index, file)
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("read %s: %w: %s", file, err, &stderr)
	}
	return os.WriteFile(file+".txt", text, 0o644)
}
