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
is named.`,
		Example: `  petstorectl usage verify --month 2026-10
  petstorectl usage verify --month 2026-10 -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runVerify(cmd.Context(), o) },
	}), &o.month)
}

// verification is the result for a month.
type verification struct {
	store.Month

	difference string
}

func (v verification) state() string {
	if v.difference != "" {
		return "altered"
	}
	return "intact"
}

// VerifyView shows the result of usage verify.
var VerifyView = append(output.View[verification]{
	{Name: "state", Value: func(v verification) any { return v.state() }},
	{Name: "difference", Value: func(v verification) any { return v.difference }},
}, output.Map(MonthView, func(v verification) store.Month { return v.Month })...)

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
	month, difference, err := db.Months.Verify(ctx, o.month.From)
	if errors.Is(err, store.ErrMonthOpen) {
		return openMonth(o.month)
	}
	if err != nil {
		return err
	}
	if err := output.Item(o.Printer(), VerifyView, verification{month, difference}); err != nil || difference == "" {
		return err
	}
	return &cmdutil.Error{Code: cmdutil.ExitFailed, Message: o.month.Month() + " was altered: " + difference}
}
