package plan

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type voidOptions struct {
	*cmdutil.Factory

	id   string
	undo bool
}

func newCmdVoid(f *cmdutil.Factory) *cobra.Command {
	o := &voidOptions{Factory: f}
	cmd := cmdutil.ForBilling(f.ChangeCommand(&cobra.Command{
		Use:   "void ID --reason TEXT",
		Short: "Mark an assignment as void: it was made by mistake",
		Long: `Mark an assignment that has begun as void, because it was made by mistake. It
stays in the history, with the mark and the reason. What it decided is not
changed: assign the right plan. Exports and events take its requests back, in
the first open month if theirs is closed.

plan history lists the IDs, in the column ASSIGNMENT.`,
		Example: `  petstorectl plan void 17 --reason "meant for tenant zoo"
  petstorectl plan void 17 --undo --reason "17 was right, 18 was not"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmdutil.RequireFlags(cmd, "reason"); err != nil {
				return err
			}
			return runVoid(cmd.Context(), o)
		},
	}, assignmentArg(&o.id)))
	cmd.Flags().BoolVar(&o.undo, "undo", false, "remove the mark")
	return cmd
}

// VoidView shows an assignment and its mark.
var VoidView = append(ScheduleView[:len(ScheduleView):len(ScheduleView)],
	output.Column[store.Coming]{Name: "voided_at", Value: func(c store.Coming) any { return c.VoidedAt }},
	output.Column[store.Coming]{Name: "void_reason", Value: func(c store.Coming) any { return c.VoidReason }},
)

func runVoid(ctx context.Context, o *voidOptions) error {
	id, err := strconv.ParseInt(o.id, 10, 64)
	if err != nil {
		return err
	}
	return cmdutil.Change[store.Coming]{
		Subject: cmdutil.Subject{Assignment: o.id},
		Do: func(ctx context.Context, db *store.DB, actor audit.By) (store.Coming, error) {
			return db.Timelines.Void(ctx, actor, id, o.undo)
		},
		Notice: func(c store.Coming) string {
			assignment := fmt.Sprintf("assignment %d of tenant %s: plan %s from %s", c.Assignment, c.Tenant, c.Plan, output.Text(c.From))
			if o.undo {
				return "removed the mark void of " + assignment
			}
			return "marked as void " + assignment
		},
		View: VoidView,
	}.Run(ctx, o.Factory)
}
