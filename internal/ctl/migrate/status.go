package migrate

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
)

func newCmdStatus(f *cmdutil.Factory) *cobra.Command {
	return f.ReadCommand(&cobra.Command{
		Use:     "status",
		Short:   "Show the schema version and pending migrations",
		Example: `  petstorectl migrate status`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), f) },
	})
}

func runStatus(ctx context.Context, f *cmdutil.Factory) error {
	_, s, err := status(ctx, f)
	if err != nil {
		return err
	}
	return output.Item(f.Printer(), View, s)
}
