package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"petstore.example/bench/must"
)

// profileKinds are kinds of profiles by pprof's names, and the sample of each by which its top entries are sorted.
var profileKinds = []struct{ name, path, index string }{
	{"cpu", "profile", "cpu"},
	{"allocs", "allocs", "alloc_objects"},
}

// takeProfiles runs each case of petstore once more, and writes NAME.cpu.pprof and NAME.allocs.pprof, each with its top entries in a text
// file beside it. These runs are not part of the results.
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
		data := make([][]byte, len(profileKinds))
		var taking errgroup.Group
		for i, kind := range profileKinds {
			taking.Go(func() (err error) {
				data[i], err = c.on.petstore.Profile(ctx, fmt.Sprintf("%s?seconds=%d", kind.path, int(profiled.Seconds())-1))
				return err
			})
		}
		run := must.Get(c.run(ctx, o.load(profiled, 0)))
		must.Do(taking.Wait())
		for i, kind := range profileKinds {
			file := filepath.Join(o.profile, c.Name+"."+kind.name+".pprof")
			must.Do(os.WriteFile(file, data[i], 0o644))
			top := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount=20", "-sample_index="+kind.index, file)
			must.Do(os.WriteFile(file+".txt", must.Get(top.Output()), 0o644))
			o.logf("wrote %s at %.0f requests/s, CPU %v", file, run.RPS, run.CPU)
		}
	}
	return nil
}
