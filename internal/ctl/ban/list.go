package ban

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

type listOptions struct {
	*cmdutil.Factory

	tenant string
	source keys.BanSource
	since  time.Time
	past   bool
	after  int64
	list   cmdutil.ListFlags
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List bans in force, the newest first",
		Long: `List bans, the newest first: those in force to which all filters apply, and with
--past or --since also those that ended or were lifted.

` + cmdutil.PastHelp,
		Example: `  petstorectl ban list
  petstorectl ban list --tenant acme --past
  petstorectl ban list --since yesterday --source automatic`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), o) },
	})
	cmdutil.TenantFlag(cmd, f, &o.tenant)
	cmdutil.EnumFlag(cmd, &o.source, "source", "", "only one `SOURCE`: automatic or staff", keys.Automatic, keys.ByStaff)
	cmdutil.PastFlag(cmd, f, &o.since, "since", "only those that began at `WHEN` or later, such as 7d")
	cmd.Flags().BoolVar(&o.past, "past", false, "include bans that ended or were lifted")
	o.list.Add(cmd, cmdutil.DefaultLimit)
	o.list.AddAfterNumber(cmd, &o.after, "the ban with this `ID`")
	return cmd
}

func runList(ctx context.Context, o *listOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	now := o.Now()
	filter := store.BanFilter{
		Tenant: o.tenant, Source: o.source, Since: o.since, Past: o.past || !o.since.IsZero(), After: o.after, Limit: o.list.Query(o.Factory),
	}
	v, empty := View(now), "no bans in force"
	if filter.Past {
		v, empty = v.Show("status"), "no bans"
	}
	if o.list.Filtered("source", "since") {
		empty = "no ban matches"
	}
	list := db.Bans.List(ctx, filter, now)
	if err = cmdutil.PrintStream(o.Factory, v, list, &o.list, func(b keys.Ban) string { return strconv.FormatInt(b.ID, 10) }, empty); errors.Is(err, keys.ErrBanNotFound) {
		return &cmdutil.Error{Code: cmdutil.ExitNotFound, Message: fmt.Sprintf("there is no ban %d", o.after), Hint: "begin again without --after"}
	}
	return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant})
}
