// Package migrate holds the commands about the database schema.
package migrate

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	storemigrate "petstore.example/internal/store/migrate"
)

// NewCmd returns the command migrate.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("migrate", "Manage the database schema",
		newCmdUp(f), newCmdDown(f), newCmdStatus(f),
	)
}

// View shows the state of the schema.
var View = output.View[storemigrate.Status]{
	{Name: "version", Value: func(s storemigrate.Status) any { return int64(s.Version) }},
	{Name: "latest", Value: func(s storemigrate.Status) any { return int64(s.Latest) }},
	{Name: "state", Value: func(s storemigrate.Status) any { return state(s) }},
	{Name: "pending", Value: func(s storemigrate.Status) any { return s.Pending }},
	{Name: "running", Value: func(s storemigrate.Status) any {
		if s.Running == nil {
			return ""
		}
		return s.Running.String()
	}},
}

// state is up to date, behind, newer (than this program) or running (somebody migrates).
func state(s storemigrate.Status) string {
	switch {
	case s.Running != nil:
		return "running"
	case s.Version > s.Latest:
		return "newer"
	case len(s.Pending) > 0:
		return "behind"
	}
	return "up to date"
}

// status reads the status of the database, and returns its URL.
func status(ctx context.Context, f *cmdutil.Factory) (url string, s storemigrate.Status, err error) {
	source, err := f.FindDatabase()
	if err != nil {
		return "", s, err
	}
	// Only this connection has a short timeout.
	if _, err := f.DB(ctx); err != nil {
		return "", s, err
	}
	if s, err = storemigrate.GetStatus(ctx, source.URL); err != nil {
		err = source.Explain(err)
	}
	return source.URL, s, err
}

// printChanged prints the status after a change to a version.
func printChanged(ctx context.Context, f *cmdutil.Factory, before storemigrate.Status, version uint) error {
	after := before.At(version)
	if !f.DryRun {
		var err error
		if _, after, err = status(ctx, f); err != nil {
			return err
		}
	}
	return cmdutil.PrintChanged(f, View, after)
}

func newCmdStatus(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.SetColumns(f.ReadCommand(&cobra.Command{
		Use:     "status",
		Short:   "Show the schema version and pending migrations",
		Example: `  petstorectl migrate status`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, s, err := status(cmd.Context(), f)
			if err != nil {
				return err
			}
			return output.Item(f.Printer(), View, s)
		},
	}), View.Names())
}

func newCmdUp(f *cmdutil.Factory) *cobra.Command {
	cmd := cmdutil.OutputCommand(f, &cobra.Command{
		Use:   "up",
		Short: "Apply all pending migrations",
		Long: `Apply all pending migrations. Each takes effect wholly or not at all, whatever
ends the command: run it again.

While another migration runs, the command waits and says who runs it. If other
sessions hold locks that a migration needs, a dump for example, the command says
which, and tries again for ten minutes: servers serve meanwhile.`,
		Example: `  petstorectl migrate up`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runUp(cmd.Context(), f) },
	})
	f.DryRunFlag(cmd)
	return cmdutil.SetColumns(cmd, View.Names())
}

func runUp(ctx context.Context, f *cmdutil.Factory) error {
	if err := f.CheckUnambiguous(); err != nil {
		return err
	}
	url, before, err := status(ctx, f)
	others := false // applied some of what was pending
	if err == nil && !f.DryRun {
		err = storemigrate.Up(ctx, url, func(line string) {
			others = others || strings.HasPrefix(line, "waiting: ")
			say(f, line)
		})
		f.Changes = true
	}
	if err != nil {
		return err
	}
	if len(before.Pending) == 0 || others {
		f.Messagef("the database is up to date")
	} else {
		f.Changedf("applied %s", strings.Join(before.Pending, ", "))
	}
	return printChanged(ctx, f, before, before.Latest)
}

// say says whom a migration waits for.
func say(f *cmdutil.Factory, line string) { f.Messagef("petstorectl: %s", output.Clean(line)) }

func newCmdDown(f *cmdutil.Factory) *cobra.Command {
	var steps int
	cmd := cmdutil.OutputCommand(f, &cobra.Command{
		Use:   "down",
		Short: "Revert the last migrations and delete their data",
		Long: `Revert the last migrations. The tables that they created are dropped with all
their data.

The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl migrate down --steps 1 --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if steps < 1 {
				return cmdutil.UsageErrorf("--steps must be at least 1, not %d", steps)
			}
			return runDown(cmd.Context(), f, steps)
		},
	})
	cmd.Flags().IntVar(&steps, "steps", 1, "how many migrations to revert: `N`")
	cmdutil.CompleteFlag(cmd, "steps")
	f.DryRunFlag(cmd)
	f.YesFlag(cmd)
	return cmdutil.SetColumns(cmd, View.Names())
}

func runDown(ctx context.Context, f *cmdutil.Factory, steps int) error {
	if err := f.CheckUnambiguous(); err != nil {
		return err
	}
	url, before, err := status(ctx, f)
	if err == nil && !f.DryRun {
		err = storemigrate.CheckOwner(ctx, url)
	}
	if err != nil {
		return err
	}
	if uint(steps) > before.Version {
		return cmdutil.RefusedErrorf("can't revert %s: the database has %s",
			output.Count(int64(steps), "migration"), output.Count(int64(before.Version), "migration"))
	}
	if err := f.Confirm(
		ctx,
		fmt.Sprintf("Revert %d of %d migrations and delete all data in their tables?", steps, before.Version),
	); err != nil {
		return err
	}
	if !f.DryRun {
		if err := storemigrate.Down(ctx, url, steps, func(line string) { say(f, line) }); err != nil {
			return err
		}
		f.Changes = true
	}
	f.Changedf("reverted %d of %d migrations", steps, before.Version)
	return printChanged(ctx, f, before, before.Version-uint(steps))
}
