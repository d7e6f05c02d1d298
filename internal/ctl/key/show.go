package key

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
)

type showOptions struct {
	*cmdutil.Factory

	id string
}

func newCmdShow(f *cmdutil.Factory) *cobra.Command {
	o := &showOptions{Factory: f}
	return f.ReadCommand(&cobra.Command{
		Use:     "show KEY-ID",
		Aliases: []string{"get", "view"},
		Short:   "Show a key and its ban",
		Example: `  petstorectl key show key_9Xb2LmQ0tR7sVw1Z`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runShow(cmd.Context(), o) },
	}, cmdutil.KeyIDArg(f, &o.id))
}

func runShow(ctx context.Context, o *showOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	k, err := db.Keys.Get(ctx, o.id)
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Key: o.id})
	}
	return output.Item(o.Printer(), View(o.Now()), k)
}
