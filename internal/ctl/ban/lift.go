package ban

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

type liftOptions struct {
	*cmdutil.Factory

	id string
}

func newCmdLift(f *cmdutil.Factory) *cobra.Command {
	o := &liftOptions{Factory: f}
	return f.ChangeCommand(&cobra.Command{
		Use:     "lift KEY-ID",
		Short:   "Lift the ban on a key",
		Example: `  petstorectl ban lift key_9Xb2LmQ0tR7sVw1Z --reason "they fixed their loop"`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runLift(cmd.Context(), o) },
	}, cmdutil.KeyIDArg(f, &o.id))
}

func runLift(ctx context.Context, o *liftOptions) error {
	now := o.Now()
	return cmdutil.Change[keys.Ban]{
		Subject: cmdutil.Subject{Key: o.id},
		Do: func(ctx context.Context, db *store.DB, actor audit.By) (keys.Ban, error) {
			return db.Bans.Lift(ctx, actor, o.id, now)
		},
		Notice: func(b keys.Ban) string { return "lifted the ban on key " + b.KeyID + " of tenant " + b.TenantName },
		View:   View(now),
	}.Run(ctx, o.Factory)
}
