package audit

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
)

func newCmdExport(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := cmdutil.OutputCommand(f, &cobra.Command{
		Use:   "export",
		Short: "Export changes, the oldest first",
		Long: `Export changes, the oldest first, as they arrive: memory holds one of them. The
format is jsonl unless -o says otherwise. docs/audit.md has a program that
verifies an export without petstorectl.

` + cmdutil.PastHelp,
		Example: `  petstorectl audit export > audit.jsonl
  petstorectl audit export --since 2026-11-01 --until 2026-12-01 -o csv`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runExport(cmd.Context(), o) },
	})
	addFilters(cmd, o)
	return cmd
}

func runExport(ctx context.Context, o *listOptions) error {
	filter, err := o.query()
	if err != nil {
		return err
	}
	filter.OldestFirst = true
	o.CallTimeout = cmdutil.NoTimeLimit
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	p := o.Printer()
	if p.Format == "" || p.Format == "table" {
		p.Format = "jsonl"
	}
	out, err := output.NewStream(p, View)
	if err != nil {
		return err
	}
	for e, err := range db.Audit.List(ctx, filter) {
		if err != nil {
			return o.Explain(ctx, err, cmdutil.Subject{Tenant: filter.Tenant})
		}
		if err := out.Add(e); err != nil {
			return err
		}
	}
	return out.Close()
}
