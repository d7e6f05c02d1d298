package main

import (
	"context"

	"github.com/spf13/cobra"
)

type planListOptions struct {
	*factory
}

func newCmdPlanList(f *factory, runF func(context.Context, *planListOptions) error) *cobra.Command {
	if runF == nil {
		runF = runPlanList
	}
	o := &planListOptions{factory: f}
	return &cobra.Command{
		Use:               "list",
		Aliases:           []string{"ls"},
		Short:             "List plans, the smallest first",
		Example:           `  petstorectl plan list`,
		Args:              exactArgs(),
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
		ValidArgsFunction: completeArgs(),
	}
}

func runPlanList(ctx context.Context, o *planListOptions) error {
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	list, err := db.Plans.List(ctx)
	if err != nil {
		return err
	}
	return printList(o.factory, planView, list)
}
