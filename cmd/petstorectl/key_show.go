package main

import (
	"context"

	"github.com/spf13/cobra"
)

type keyShowOptions struct {
	*factory

	id string
}

func newCmdKeyShow(f *factory, runF func(context.Context, *keyShowOptions) error) *cobra.Command {
	if runF == nil {
		runF = runKeyShow
	}
	o := &keyShowOptions{factory: f}
	return &cobra.Command{
		Use:     "show KEY-ID",
		Aliases: []string{"get", "view"},
		Short:   "Show a key and its ban",
		Example: `  petstorectl key show key_9Xb2LmQ0tR7sVw1Z`,
		Args:    exactArgs("KEY-ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkKeyID(args[0]); err != nil {
				return err
			}
			o.id = args[0]
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.keyIDs),
	}
}

func runKeyShow(ctx context.Context, o *keyShowOptions) error {
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	k, err := db.Keys.Get(ctx, o.id)
	if err != nil {
		return o.explain(ctx, err, about{key: o.id})
	}
	return printKey(ctx, o.factory, db, k)
}
