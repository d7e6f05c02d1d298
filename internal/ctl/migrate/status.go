package migrate

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
)

type statusOptions struct {
	*cmdutil.Factory
}

func newCmdStatus(f *cmdutil.Factory, runF func(context.Context, *statusOptions) error) *cobra.Command {
	o := &statusOptions{Factory: f}
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show the schema version and pending migrations",
		Example: `  petstorectl migrate status`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	cmdutil.SetArgs(cmd)
	f.ReadFlags(cmd)
	return cmd
}

func runStatus(ctx context.Context, o *statusOptions) error {
	_, s, err := status(ctx, o.Factory)
	if err != nil {
		return err
	}
	return output.Item(o.Printer(), View, s)
}
