package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type editOptions struct {
	*cmdutil.Factory

	name         string
	title, price string
	numbers      numberFlags
	from         cmdutil.When
	keepExisting bool
	edit         store.PlanEdit
}

func newCmdEdit(f *cmdutil.Factory) *cobra.Command {
	o := &editOptions{Factory: f}
	cmd := cmdutil.ForBilling(f.ChangeCommand(&cobra.Command{
		Use:   "edit PLAN",
		Short: "Edit a plan: its numbers, title or price",
		Long: `Edit a plan. Other numbers are a new version of the plan, from now or from WHEN
on; title and price change at once. What was in force before is never changed.

The tenants on the plan move to the new version when it begins. With
--keep-existing they keep their numbers, and only those that are assigned the
plan from then on have the new ones; "plan move" takes the others over later.
A later edit is followed by those that follow the latest version.

With --dry-run the command shows who moves, and of whom more requests would have
been refused, by the usage of the last 30 days; see "plan simulate".

A version that has not begun is removed by "plan withdraw".

` + cmdutil.WhenHelp,
		Example: `  petstorectl plan edit pro --per-minute 400 --dry-run
  petstorectl plan edit pro --per-minute 400 --from 2026-12-01
  petstorectl plan edit pro --per-day 8000 --keep-existing --reason "price list 2027"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.takeFlags(cmd); err != nil {
				return err
			}
			return runEdit(cmd.Context(), o)
		},
	}, cmdutil.PlanArg(f, &o.name)))
	o.numbers.add(cmd)
	cmdutil.TextFlag(cmd, &o.title, "title", "`TEXT` that customers know the plan by", maxText)
	cmdutil.TextFlag(cmd, &o.price, "price", "`TEXT` for the price list", maxText)
	cmdutil.WhenFlag(cmd, f, &o.from, "from", "`WHEN` the numbers begin (default: now)")
	cmd.Flags().BoolVar(&o.keepExisting, "keep-existing", false, "tenants that are on the plan keep their numbers")
	return cmd
}

func (o *editOptions) takeFlags(cmd *cobra.Command) error {
	numbers, err := o.numbers.given(cmd)
	if err != nil {
		return err
	}
	if numbers {
		o.edit.Numbers = &plans.VersionEdit{
			PerMinute: o.numbers.perMinute, PerDay: o.numbers.perDay, From: beginning(o.Factory, o.from), KeepExisting: o.keepExisting,
		}
	}
	if cmd.Flags().Changed("title") {
		o.edit.Title = &o.title
	}
	if cmd.Flags().Changed("price") {
		o.edit.Price = &o.price
	}
	switch {
	case numbers:
	case o.from.IsSet():
		return cmdutil.UsageErrorf("--from requires --per-minute or --per-day: title and price change at once")
	case o.keepExisting:
		return cmdutil.UsageErrorf("--keep-existing requires --per-minute or --per-day")
	case o.edit == store.PlanEdit{}:
		return cmdutil.UsageErrorf("nothing to edit: use --per-minute, --per-day, --title or --price").WithHint("see: " + cmd.CommandPath() + " --help")
	}
	return nil
}

func runEdit(ctx context.Context, o *editOptions) error {
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	done, err := db.Plans.Edit(ctx, actor, o.name, o.edit)
	if invalid := (plans.NumbersError{}); errors.As(err, &invalid) {
		return cmdutil.UsageErrorf("%v", invalid)
	}
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Plan: o.name})
	}
	if !done.Changed {
		o.Messagef("plan %s is so already: nothing was changed", o.name)
		return cmdutil.PrintChanged(o.Factory, View, done.Plan)
	}
	o.Changedf("%s", o.notice(done))
	if !o.DryRun || done.Version == nil {
		return cmdutil.PrintChanged(o.Factory, View, done.Plan)
	}
	return printImpact(ctx, o.Factory, db, done)
}

// notice is what was done in words.
func (o *editOptions) notice(c store.EditedPlan) string {
	var parts []string
	if v := c.Version; v != nil {
		parts = append(parts, fmt.Sprintf("version %d is %s, from %s on", v.Number, tenant.QuotaText(*v.Quota), output.Text(v.From)))
	}
	if o.edit.Title != nil {
		parts = append(parts, "its title is "+quoted(c.Plan.Title))
	}
	if o.edit.Price != nil {
		parts = append(parts, "its price is "+quoted(c.Plan.Price))
	}
	text := "edited plan " + c.Plan.Name + ": " + strings.Join(parts, "; ")
	switch n := int64(len(c.Followers)); {
	case c.Version == nil:
	case !c.KeepExisting:
		text += "\n" + countTenants(n) + " " + verb(n, "moves", "move") + " to it"
	case n > 0:
		text += fmt.Sprintf("\n%s %s the numbers of before; move them later: petstorectl plan move %s --all", countTenants(n), verb(n, "keeps", "keep"), c.Plan.Name)
	}
	return text
}

func quoted(text string) string {
	if text == "" {
		return "empty"
	}
	return `"` + output.Clean(text) + `"`
}

func verb(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
