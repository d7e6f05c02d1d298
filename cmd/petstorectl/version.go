package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versionOptions struct {
	*factory
}

func newCmdVersion(f *factory, runF func(*versionOptions) error) *cobra.Command {
	if runF == nil {
		runF = runVersion
	}
	o := &versionOptions{factory: f}
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Example:           `  petstorectl version`,
		Args:              exactArgs(),
		RunE:              func(*cobra.Command, []string) error { return runF(o) },
		ValidArgsFunction: completeArgs(),
	}
}

// build is what the Go tool wrote into the program.
type build struct{ version, commit, time, goVersion string }

var buildView = view[build]{
	{name: "version", value: func(b build) any { return b.version }},
	{name: "commit", value: func(b build) any { return b.commit }},
	{name: "commit_at", value: func(b build) any { return b.time }},
	{name: "go", value: func(b build) any { return b.goVersion }},
}

func runVersion(o *versionOptions) error {
	b := readBuild()
	if o.output != "" {
		return printOne(o.factory, buildView, b)
	}
	text := "petstorectl " + b.version
	if b.commit != "" {
		text += fmt.Sprintf(" (%.12s, %s)", b.commit, b.goVersion)
	}
	_, err := fmt.Fprintln(o.streams.out, text)
	return err
}

func readBuild() build {
	b := build{version: "unknown", goVersion: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.time = s.Value
		}
	}
	return b
}
