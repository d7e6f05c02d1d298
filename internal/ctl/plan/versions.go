package plan

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/pricing"
)

func newCmdCreate(f *cmdutil.Factory) *cobra.Command {
	var (
		plan    pricing.NewPlan
		from    cmdutil.When
		numbers cmdutil.QuotaFlags
	)
	c := &cmdutil.Change[pricing.EditedPlan]{Factory: f, View: output.Map(View, planOf)}
	c.Check = func(*cobra.Command) (err error) {
		plan.Name, plan.From = c.Subject.Plan, beginning(f, from)
		plan.Quota, err = numbers.All()
		return err
	}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (pricing.EditedPlan, error) {
		return db.Plans.Create(ctx, by, plan)
	}
	c.Notice = func(c pricing.EditedPlan) string {
		text := "its quota is agreed with each tenant"
		if c.Version.Quota != nil {
			text = tenant.QuotaText(*c.Version.Quota)
		}
		return fmt.Sprintf("created plan %s: %s%s", c.Plan.Name, text, fromText(from, c.Version.From))
	}
	cmd := cmdutil.ForBilling(c.Command(&cobra.Command{
		Use:   "create NAME [--per-minute N --per-day N]",
		Short: "Create a plan",
		Long: `Create a plan. Its name is 1 to 63 characters of a-z, 0-9 and -, and does not
begin with -. Its numbers are version 1 of the plan.

With --per-month the price includes so many requests of a UTC month. --overage
says how many more are admitted and billed apart: a number, a share of the
included ones such as 20%, or unlimited. Without it the month is a limit.
Without --per-day the day is limited by the month alone.

The quota of a plan without numbers is agreed with each tenant, as that of the
enterprise plan.

` + cmdutil.WhenHelp,
		Example: `  petstorectl plan create starter --per-minute 120 --per-day 3000 --title Starter ` +
			`--price "9 EUR a month"
  petstorectl plan create metered --per-minute 600 --per-month 100000 --overage 20%
  petstorectl plan create partner --title "For resellers"`,
	}, cmdutil.Arg{Name: "NAME", Value: &c.Subject.Plan}))
	numbers.Add(cmd, "")
	cmdutil.TextFlag(cmd, &plan.Title, "title", "`TEXT` that customers know the plan by", maxText)
	cmdutil.TextFlag(cmd, &plan.Price, "price", "`TEXT` for the price list", maxText)
	cmdutil.WhenFlag(cmd, f, &from, "from", "`WHEN` it can be assigned first (default: now)")
	cmd.Flags().BoolVar(&plan.Unlisted, "unlisted", false, "do not show it to customers: it is made for one")
	return cmd
}

// maxText is the maximum length of a title or a price, in characters.
const maxText = 100

func planOf(c pricing.EditedPlan) plans.Plan { return c.Plan }

// fromText names the instant at which a change takes effect, unless that is now.
func fromText(w cmdutil.When, at time.Time) string {
	if w.IsNow() {
		return ""
	}
	return ", from " + output.Text(at) + " on"
}

// explainNumbers returns what explains an error of a change of plans, with a NumbersError as bad
// input.
func explainNumbers[T any](c *cmdutil.Change[T]) func(context.Context, error) error {
	return func(ctx context.Context, err error) error {
		if invalid := (plans.NumbersError{}); errors.As(err, &invalid) {
			return cmdutil.UsageErrorf("%v", invalid)
		}
		return c.Factory.Explain(ctx, err, c.Subject)
	}
}

func newCmdEdit(f *cmdutil.Factory) *cobra.Command {
	e := &editFlags{}
	c := &cmdutil.Change[pricing.EditedPlan]{Factory: f, View: output.Map(View, planOf)}
	c.Check = func(cmd *cobra.Command) error { return e.take(cmd, f) }
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (pricing.EditedPlan, error) {
		return db.Plans.Edit(ctx, by, c.Subject.Plan, e.edit)
	}
	c.Explain = explainNumbers(c)
	c.Unchanged = unchangedPlan
	c.Notice = e.notice
	c.Print = func(ctx context.Context, db *store.DB, done pricing.EditedPlan) error {
		if f.DryRun && done.Changed && done.Version != nil {
			return printImpact(ctx, f, db, done)
		}
		return cmdutil.PrintChanged(f, View, done.Plan)
	}
	cmd := cmdutil.ForBilling(c.Command(&cobra.Command{
		Use:   "edit PLAN",
		Short: "Edit a plan: its numbers, title, price or listing",
		Long: `Edit a plan. Other numbers are a new version of the plan, from now or from WHEN
on; the rest changes at once. Numbers that were in force never change. A day
that may have what the month admits keeps that, unless --per-day is given.

The tenants on the plan move to the new version when it begins. With
--keep-existing they keep their numbers, and only those that are assigned the
plan from then on have the new ones; "plan move" takes the others over later.
Later edits move only tenants on the latest version.

With --dry-run the command shows which tenants move, and which of them would
have had more requests refused in the last 30 days; see "plan simulate".

A version that has not begun is removed by "plan withdraw".

` + cmdutil.WhenHelp,
		Example: `  petstorectl plan edit pro --per-minute 400 --dry-run
  petstorectl plan edit pro --per-minute 400 --from 2026-12-01
  petstorectl plan edit pro --per-day 8000 --keep-existing --reason "price list 2027"
  petstorectl plan edit pro --per-month 200000 --overage unlimited --from 2027-01-01`,
	}, cmdutil.PlanArg(f, &c.Subject.Plan)))
	e.numbers.Add(cmd, "")
	cmdutil.TextFlag(cmd, &e.title, "title", "`TEXT` that customers know the plan by", maxText)
	cmdutil.TextFlag(cmd, &e.price, "price", "`TEXT` for the price list", maxText)
	cmdutil.WhenFlag(cmd, f, &e.from, "from", "`WHEN` the numbers begin (default: now)")
	cmd.Flags().BoolVar(&e.unlisted, "unlisted", false, "customers are not shown it; or --unlisted=false")
	cmd.Flags().BoolVar(&e.keepExisting, "keep-existing", false, "tenants that are on the plan keep their numbers")
	return cmd
}

func unchangedPlan(c pricing.EditedPlan) bool { return !c.Changed }

// editFlags are the flags that say what to edit.
type editFlags struct {
	title, price string
	numbers      cmdutil.QuotaFlags
	from         cmdutil.When
	keepExisting bool
	unlisted     bool
	edit         pricing.PlanEdit
}

func (e *editFlags) take(cmd *cobra.Command, f *cmdutil.Factory) error {
	numbers := e.numbers.Given()
	if numbers {
		e.edit.Numbers = &plans.VersionEdit{
			PerMinute:    e.numbers.PerMinute,
			PerDay:       e.numbers.PerDay,
			Month:        e.numbers.Month,
			From:         beginning(f, e.from),
			KeepExisting: e.keepExisting,
		}
	}
	if cmd.Flags().Changed("title") {
		e.edit.Title = &e.title
	}
	if cmd.Flags().Changed("price") {
		e.edit.Price = &e.price
	}
	if cmd.Flags().Changed("unlisted") {
		e.edit.Unlisted = &e.unlisted
	}
	switch {
	case numbers:
	case e.from.IsSet():
		return cmdutil.UsageErrorf("--from requires a number, such as --per-minute: the rest changes at once")
	case e.keepExisting:
		return cmdutil.UsageErrorf("--keep-existing requires a number, such as --per-minute")
	case e.edit == pricing.PlanEdit{}:
		return cmdutil.UsageErrorf(
			"nothing to edit: use --per-minute, --per-day, --per-month, --overage, --title, --price or --unlisted",
		).WithHint(
			"see: " + cmd.CommandPath() + " --help",
		)
	}
	return nil
}

// notice says what was done, in words.
func (e *editFlags) notice(c pricing.EditedPlan) string {
	if !c.Changed {
		return "plan " + c.Plan.Name + " is so already"
	}
	var parts []string
	if v := c.Version; v != nil {
		parts = append(
			parts,
			fmt.Sprintf("version %d is %s, from %s on", v.Number, tenant.QuotaText(*v.Quota), output.Text(v.From)),
		)
	}
	if e.edit.Title != nil {
		parts = append(parts, "its title is "+quoted(c.Plan.Title))
	}
	if e.edit.Price != nil {
		parts = append(parts, "its price is "+quoted(c.Plan.Price))
	}
	switch {
	case e.edit.Unlisted == nil:
	case c.Plan.Unlisted:
		parts = append(parts, "customers are not shown it")
	default:
		parts = append(parts, "customers are shown it")
	}
	text := "edited plan " + c.Plan.Name + ": " + strings.Join(parts, "; ")
	switch n := int64(len(c.Followers)); {
	case c.Version == nil:
	case !c.KeepExisting:
		text += "\n" + countTenants(n) + " " + verb(n, "moves", "move") + " to it"
	case n > 0:
		text += fmt.Sprintf(
			"\n%s %s the numbers of before; move them later: petstorectl plan move %s --all",
			countTenants(n),
			verb(n, "keeps", "keep"),
			c.Plan.Name,
		)
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

func newCmdWithdraw(f *cmdutil.Factory) *cobra.Command {
	var (
		number  string
		version int
	)
	c := &cmdutil.Change[pricing.EditedPlan]{Factory: f, View: output.Map(View, planOf)}
	c.Check = func(*cobra.Command) (err error) {
		if version, err = strconv.Atoi(number); number != "" && (err != nil || version < 1) {
			return cmdutil.UsageErrorf(
				"%.20q is not the number of a version such as 3",
				number,
			).WithHint("see: petstorectl plan show " + c.Subject.Plan)
		}
		return nil
	}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (pricing.EditedPlan, error) {
		return db.Plans.Withdraw(ctx, by, c.Subject.Plan, version)
	}
	c.Notice = func(c pricing.EditedPlan) string {
		return fmt.Sprintf(
			"canceled version %d of plan %s, which was to begin at %s",
			c.Version.Number,
			c.Plan.Name,
			output.Text(c.Version.From),
		)
	}
	return cmdutil.ForBilling(c.Command(&cobra.Command{
		Use:   "withdraw PLAN [VERSION]",
		Short: "Withdraw a version of a plan before it begins",
		Long: `Withdraw the last version of a plan before it begins, up to two seconds before.
With a number the command fails if another version is the last.

A version that has begun stays: edit the plan again. To take back a retirement,
use "plan retire --cancel".`,
		Example: `  petstorectl plan withdraw pro
  petstorectl plan withdraw pro 3 --reason "the price list changed again"`,
	}, cmdutil.PlanArg(f, &c.Subject.Plan), cmdutil.Arg{Name: "[VERSION]", Value: &number}))
}

// retired is a plan that was retired or is sold again, and its number of tenants.
type retired struct {
	pricing.EditedPlan
	tenants int64
}

func newCmdRetire(f *cmdutil.Factory) *cobra.Command {
	var (
		from   cmdutil.When
		cancel bool
	)
	c := &cmdutil.Change[retired]{Factory: f, View: output.Map(View, func(r retired) plans.Plan { return r.Plan })}
	c.Check = func(*cobra.Command) error {
		if cancel && from.IsSet() {
			return cmdutil.UsageErrorf("--cancel can't be used with --from")
		}
		return nil
	}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (r retired, err error) {
		if cancel {
			r.EditedPlan, err = db.Plans.Resell(ctx, by, c.Subject.Plan)
		} else {
			r.EditedPlan, err = db.Plans.Retire(ctx, by, c.Subject.Plan, beginning(f, from))
		}
		if err == nil {
			r.tenants, err = db.Plans.CountTenants(ctx, c.Subject.Plan)
		}
		return r, err
	}
	c.Unchanged = func(r retired) bool { return !r.Changed }
	c.Notice = func(r retired) string {
		switch name := c.Subject.Plan; {
		case !r.Changed && cancel:
			return "plan " + name + " is not retired"
		case !r.Changed:
			return "plan " + name + " already retires at " + output.Text(r.Plan.RetiresAt)
		case cancel:
			return "sold plan " + name + " again: it can be assigned"
		default:
			return fmt.Sprintf(
				"retired plan %s%s: it is assigned to nobody new; %s %s on it",
				name,
				fromText(from, r.Plan.RetiresAt),
				countTenants(r.tenants),
				verb(r.tenants, "stays", "stay"),
			)
		}
	}
	cmd := cmdutil.ForBilling(c.Command(&cobra.Command{
		Use:   "retire PLAN",
		Short: "Retire a plan: assign it to nobody new",
		Long: `Retire a plan, now or from WHEN on: it is assigned to nobody new. Tenants that
are on it stay, and so do assignments to it that are scheduled already. --cancel
sells it again.

` + cmdutil.WhenHelp,
		Example: `  petstorectl plan retire starter --from 2027-01-01 --reason "replaced by basic"
  petstorectl plan retire starter --cancel`,
	}, cmdutil.PlanArg(f, &c.Subject.Plan)))
	cmdutil.WhenFlag(cmd, f, &from, "from", "`WHEN` it can no longer be assigned (default: now)")
	cmd.Flags().BoolVar(&cancel, "cancel", false, "sell the plan again")
	return cmd
}
