package usage

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store/billing"
)

func newCmdVerify(f *cmdutil.Factory) *cobra.Command {
	var month cmdutil.Period
	return cmdutil.SetColumns(cmdutil.ClosedMonthFlag(f, cmdutil.OutputCommand(f, &cobra.Command{
		Use:   "verify --month MONTH",
		Short: "Check that nothing of a closed month was altered",
		Long: `Check that nothing of a closed month was altered: neither the lines that were
sealed, nor what they were computed from (usage, assignments, versions of plans,
suspensions), nor their SHA-256. It is computed here, not in the database, and
compared with that in the audit trail; "audit verify" checks the trail itself.
If something was altered, the tenants whose lines differ are named, and the exit
code is 1. A false entry of a closing in the trail is named with its login; it
does not change the exit code.`,
		Example: `  petstorectl usage verify --month 2026-10
  petstorectl usage verify --month 2026-10 -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runVerify(cmd.Context(), f, month) },
	}), &month), VerifyView.Names())
}

func stateOf(v billing.Verification) string {
	if len(v.Differences) > 0 {
		return "altered"
	}
	return "intact"
}

// VerifyView shows the result of usage verify.
var VerifyView = append(output.View[billing.Verification]{
	{Name: "state", Value: func(v billing.Verification) any { return stateOf(v) }},
	{Name: "differences", Value: func(v billing.Verification) any { return v.Differences }},
}, output.Map(MonthView, func(v billing.Verification) billing.Month { return v.Month })...)

func runVerify(ctx context.Context, f *cmdutil.Factory, month cmdutil.Period) error {
	f.CallTimeout = cmdutil.NoTimeLimit
	db, err := f.DB(ctx)
	if err != nil {
		return err
	}
	v, err := db.Months.Verify(ctx, month.From)
	if errors.Is(err, billing.ErrMonthOpen) {
		return cmdutil.RefusedErrorf(
			"%s is not closed",
			month.Month(),
		).WithHint("close it: petstorectl usage close --month " + month.Month())
	}
	if err != nil {
		return err
	}
	for _, text := range slices.Concat(v.Notes, v.Differences) {
		f.Messagef("%s", text)
	}
	if err := output.Item(f.Printer(), VerifyView, v); err != nil || len(v.Differences) == 0 {
		return err
	}
	return &cmdutil.Error{Code: cmdutil.ExitFailed, Message: month.Month() + " was altered"}
}
