package ctl

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
)

func newCmdVersion(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  petstorectl version`,
		RunE:    func(*cobra.Command, []string) error { return printVersion(f) },
	}
	cmdutil.SetArgs(cmd)
	f.OutputFlag(cmd)
	return cmd
}

// build is what the Go tool wrote into the program.
type build struct{ version, commit, time, goVersion string }

var buildView = output.View[build]{
	{Name: "version", Value: func(b build) any { return b.version }},
	{Name: "commit", Value: func(b build) any { return b.commit }},
	{Name: "commit_at", Value: func(b build) any { return b.time }},
	{Name: "go", Value: func(b build) any { return b.goVersion }},
}

func printVersion(f *cmdutil.Factory) error {
	b := readBuild()
	if f.Output != "" {
		return output.Item(f.Printer(), buildView, b)
	}
	text := "petstorectl " + b.version
	if b.commit != "" {
		text += fmt.Sprintf(" (%.12s, %s)", b.commit, b.goVersion)
	}
	_, err := fmt.Fprintln(f.Out, text)
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
