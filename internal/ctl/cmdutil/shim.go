package cmdutil

import (
	"slices"

	"github.com/spf13/cobra"
)

// AddAfter adds --after. The item is what names a row, such as "the tenant `NAME`".
func (l *ListFlags) AddAfter(cmd *cobra.Command, item string) { AfterFlag(cmd, &l.After, item) }

// AddAfterNumber adds --after for a list whose rows have numbers.
func (l *ListFlags) AddAfterNumber(cmd *cobra.Command, number *int64, item string) {
	AfterNumberFlag(cmd, number, item)
}

// Filtered reports whether one of these flags was given, or --after.
func (l *ListFlags) Filtered(names ...string) bool {
	return slices.ContainsFunc(append(names, "after"), l.cmd.Flags().Changed)
}
