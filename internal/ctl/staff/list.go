package staff

import (
	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
)

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	return f.ReadCommand(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the logins of persons",
		Long: `List the logins of persons with their roles, when their secrets expire, how many
sessions they have, and when they made their last change by the audit trail.`,
		Example: "  petstorectl staff list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			logins, err := list(cmd.Context(), f)
			if err != nil {
				return err
			}
			if len(logins) == 0 {
				f.Messagef("no logins")
			}
			return cmdutil.PrintList(f, View(f.Now()), logins)
		},
	})
}
