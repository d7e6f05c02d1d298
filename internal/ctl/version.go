package ctl

import (
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/buildinfo"
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
	return cmdutil.SetColumns(cmd, buildView.Names())
}

var buildView = output.View[buildinfo.Info]{
	{Name: "version", Value: func(b buildinfo.Info) any { return b.Version }},
	{Name: "commit", Value: func(b buildinfo.Info) any { return b.Commit }},
	{Name: "commit_at", Value: func(b buildinfo.Info) any { return b.Time }},
	{Name: "go", Value: func(b buildinfo.Info) any { return b.Go }},
}

func printVersion(f *cmdutil.Factory) error {
	b := buildinfo.Read(f.Version)
	if p := f.Printer(); f.Output != "" || p.Whole() {
		return output.Item(p, buildView, b)
	}
	_, err := fmt.Fprintln(f.Out, b.Line("petstorectl"))
	return err
}
