package usage

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type verifyOptions struct {
	*cmdutil.Factory

	month cmdutil.Period
}

func newCmdVerify(f *cmdutil.Factory) *cobra.Command {
	o := &verifyOptions{Factory: f}
	return cmdutil.ClosedMonthFlag(f, cmdutil.OutputCommand(f, &cobra.Command{
		Use:   "verify --month MONTH",
		Short: "Check that nothing of a closed month was altered",
		Long: `Check that nothing of a closed month was altered: neither the lines that were
sealed, nor what they were computed from (usage, assignments, versions of plans,
suspensions), nor the root. The hashes are computed here, not in the database.
The root is compared with that in the audit trail; "audit verify" checks the
trail itself. The exit code is 1 if something was altered; the first difference
is named. An entry in the trail that did not close the month is named with its
login, and changes nothing else.`,
		Example: `  petstorectl usage verify --month 2026-10
  petstorectl usage verify --month 2026-10 -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runVerify(cmd.Context(), o) },
	}), &o.month)
}

func stateOf(v store.Verification) string {
	if v.Difference != "" {
		return "altered"
	}
	return "intact"
}

// VerifyView shows the result of usage verify.
var VerifyView = append(output.View[store.Verification]{
	{Name: "state", Value: func(v store.Verification) any { return stateOf(v) }},
	{Name: "difference", Value: func(v store.Verification) any { return v.Difference }},
}, output.Map(MonthView, func(v store.Verification) store.Month { return v.Month })...)

// openMonth is the error for a month that must be closed.
func openMonth(month cmdutil.Period) error {
	return refusedf("close it: petstorectl usage close --month "+month.Month(), "%s is not closed", month.Month())
}

func runVerify(ctx context.Context, o *verifyOptions) error {
	o.CallTimeout = cmdutil.NoTimeLimit
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	v, err := db.Months.Verify(ctx, o.month.From)
	if errors.Is(err, store.ErrMonthOpen) {
		return openMonth(o.month)
	}
	if err != nil {
		return err
	}
	for _, entry := range v.FalseEntries {
		o.Messagef("%s", entry)
	}
	if err := output.Item(o.Printer(), VerifyView, v); err != nil || v.Difference == "" {
		return err
	}
	return &cmdutil.Error{Code: cmdutil.ExitFailed, Message: o.month.Month() + " was altered: " + v.Difference}
}
