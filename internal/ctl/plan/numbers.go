package plan

import (
	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/plans"
)

// numberFlags are the two flags that set the numbers of a plan.
type numberFlags struct{ perMinute, perDay int64 }

func (n *numberFlags) add(cmd *cobra.Command) {
	cmd.Flags().Int64Var(&n.perMinute, "per-minute", 0, "`N` requests per minute")
	cmd.Flags().Int64Var(&n.perDay, "per-day", 0, "`N` requests per UTC day")
	cmdutil.CompleteFlag(cmd, "per-minute")
	cmdutil.CompleteFlag(cmd, "per-day")
}

// quota returns nil if neither flag was given.
func (n *numberFlags) quota(cmd *cobra.Command) (*plans.Quota, error) {
	given, err := n.given(cmd)
	switch {
	case err != nil || !given:
		return nil, err
	case n.perMinute == 0 || n.perDay == 0:
		return nil, cmdutil.UsageErrorf("--per-minute and --per-day must be given together")
	}
	quota := &plans.Quota{PerMinute: n.perMinute, PerDay: n.perDay}
	if err := quota.Validate(); err != nil {
		return nil, cmdutil.UsageErrorf("%v", err)
	}
	return quota, nil
}

// given tells whether one of the flags was given, and refuses numbers below 1.
func (n *numberFlags) given(cmd *cobra.Command) (given bool, err error) {
	for name, value := range map[string]int64{"per-minute": n.perMinute, "per-day": n.perDay} {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if given = true; value < 1 {
			return true, cmdutil.UsageErrorf("--%s must be at least 1, not %d", name, value)
		}
	}
	return given, nil
}
