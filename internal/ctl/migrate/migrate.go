// Package migrate holds the commands about the database schema.
package migrate

import (
	"context"

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
}

// state is up to date, behind, newer (than this program) or dirty (a migration failed).
func state(s storemigrate.Status) string {
	switch {
	case s.Dirty:
		return "dirty"
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
	after, err := before.At(version)
	if !f.DryRun {
		_, after, err = status(ctx, f)
	}
	if err != nil {
		return err
	}
	return cmdutil.PrintChanged(f, View, after)
}
