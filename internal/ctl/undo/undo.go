// Package undo holds the command that takes back changes.
package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/store/undo"
)

// View shows what an undo changed: the entry that it took back, and its own.
var View = output.View[undo.Undone]{
	{Name: "undoes", Value: func(u undo.Undone) any { return u.Entry.Number }, InList: true},
	{Name: "number", Value: func(u undo.Undone) any { return output.NumberOrNil(u.By.Number) }, InList: true},
	{Name: "action", Value: func(u undo.Undone) any { return u.By.Action }, InList: true},
	{Name: "tenant_id", Value: func(u undo.Undone) any { return output.NumberOrNil(u.Entry.TenantID) }},
	{Name: "tenant", Value: func(u undo.Undone) any { return u.Entry.TenantName }, InList: true},
	{Name: "subject", Value: func(u undo.Undone) any { return u.By.Subject }, InList: true, MinWidth: output.IDWidth},
	{Name: "before", Value: func(u undo.Undone) any { return u.By.Before }},
	{Name: "after", Value: func(u undo.Undone) any { return u.By.After }},
}

// NewCmd returns the command undo.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	var (
		number  string
		numbers []int64
		named   bool
		shared  string
	)
	c := &cmdutil.Change[[]undo.Undone]{Factory: f}
	c.Check = func(cmd *cobra.Command) (err error) {
		numbers, err = parseNumbers(cmd.Flags().Args())
		named = len(numbers) > 0
		return err
	}
	c.Question = func(ctx context.Context, db *store.DB, undone []undo.Undone) (cmdutil.Question, error) {
		return question(ctx, f, db, undone, named)
	}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (_ []undo.Undone, err error) {
		if len(numbers) == 0 { // Only what was asked about is done.
			if numbers, err = db.Undos.Latest(ctx, 0); err != nil {
				return nil, err
			}
		}
		undone, err := db.Undos.Do(ctx, by, numbers, f.Now())
		shared = sharedRefs(ctx, db, undone)
		return undone, earlier(ctx, db, err, named)
	}
	c.Notice = func(undone []undo.Undone) string {
		say := "undone "
		if f.DryRun {
			say = "would have undone "
		}
		lines := cmdutil.Facts(undone, func(u undo.Undone) string { return say + sentence(f, u) })
		// The caller writes the first "would have".
		return strings.TrimPrefix(strings.Join(lines, "\n"), "would have ") + shared
	}
	c.Print = func(_ context.Context, _ *store.DB, undone []undo.Undone) error {
		if len(numbers) == 1 && len(undone) == 1 {
			return cmdutil.PrintChanged(f, View, undone[0])
		}
		return cmdutil.PrintChangedList(f, View, undone)
	}
	cmd := newTexts()
	c.Explain = func(_ context.Context, err error) error { return explain(cmd, f, err, named) }
	c.Command(cmd, cmdutil.Arg{Name: "AUDIT-ID|FROM-TO", Value: &number, Complete: cmdutil.ChangeNumbers(f)}.Repeated())
	return cmdutil.SetColumns(cmd, View.Names())
}

func newTexts() *cobra.Command {
	return &cobra.Command{
		Use:   "undo [AUDIT-ID|FROM-TO...]",
		Short: "Take a change back",
		Long: `Take a change back: restore the state before it, by a new change. Every command
that changes something prints the number to give here. FROM-TO is a change of
many items: all are taken back or none. Without a number it is the latest change
of your login; if that is final, the error names the one before it.

Only the latest change of a subject (a tenant, a key or a plan) can be undone.
An undo is a change too: to make the first one again, undo the undo. Some
changes, such as closing a month, are final, and so is the undo of "usage
resend" and "usage waive": run these again. A revoked key can be brought back
for 15 minutes, by the login that revoked it or by the owner of the database.
Other changes can be undone for 30 days.

The command asks for confirmation without a number, for more than one entry, and
if it revokes or bans a key or suspends a tenant, then for the name of a tenant
that called today. Scripts need --yes.`,
		Example: `  petstorectl undo 4711 --dry-run
  petstorectl undo 4711 --reason "wrong customer"
  petstorectl undo 4711-4760 --yes`,
	}
}

// earlier adds to the error about a final change that nobody named the one before it that can be
// undone.
func earlier(ctx context.Context, db *store.DB, err error, named bool) error {
	refused := (*undo.Error)(nil)
	if named || !errors.As(err, &refused) || audit.FindEvent(refused.Entry.Action).Undo != "" {
		return err
	}
	numbers, _ := db.Undos.Latest(ctx, refused.Entry.Number)
	if n := len(numbers); n > 0 {
		text := fmt.Sprint("or take back the change before it: petstorectl undo ", numbers[0])
		if n > 1 {
			text += fmt.Sprint("-", numbers[n-1])
		}
		refused.Hint = strings.TrimPrefix(refused.Hint+"\n"+text, "\nor ")
	}
	return err
}

var tenantName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*[a-z][a-z0-9-]*$`)

// parseNumbers reads numbers of entries, and ranges such as 4711-4760: each number once, in order.
func parseNumbers(args []string) (numbers []int64, err error) {
	for _, arg := range args {
		from, to, isRange := strings.Cut(arg, "-")
		if !isRange {
			to = from
		}
		first, firstErr := strconv.ParseInt(from, 10, 64)
		last, lastErr := strconv.ParseInt(to, 10, 64)
		switch {
		case errors.Join(firstErr, lastErr) != nil || first < 1 || last < first:
			find := "petstorectl audit list"
			if tenantName.MatchString(arg) {
				find += " --tenant " + arg
			}
			return nil, cmdutil.UsageErrorf("%.80q is neither the number of an audit entry nor a range of them", arg).
				WithHint(
					"give the number that the change printed, such as 4711 or 4711-4760,\nor find it with: " + find,
				)
		case last-first >= int64(store.MaxBatch-len(numbers)):
			return nil, cmdutil.UsageErrorf("at most %d entries are taken back at once", store.MaxBatch)
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// sharedRefs returns lines about billing references: hours that stay with the former ones, and
// restored ones that other tenants have too. It leaves out what can't be read: an error would say
// that nothing was undone.
func sharedRefs(ctx context.Context, db *store.DB, undone []undo.Undone) (lines string) {
	type record struct {
		BillingRef string `json:"billing_ref"`
	}
	for _, u := range undone {
		before, after, err := undo.Records[record](u.By)
		if err == nil && u.By.Action == "tenant.edit" && before != after {
			others, _ := cmdutil.WithRef(ctx, db, after.BillingRef)
			lines += cmdutil.FormerRef(before.BillingRef, after.BillingRef)
			lines += cmdutil.SharedRef(u.Entry.TenantID, after.BillingRef, others)
		}
	}
	return lines
}

// sentence says what is in force after the undo.
func sentence(f *cmdutil.Factory, u undo.Undone) string {
	subject := strings.Replace(u.By.Subject, ":", " ", 1)
	switch {
	case u.Entry.Subject == audit.TenantSubject(u.Entry.TenantID):
		subject = "tenant " + u.Entry.TenantName
	case u.Entry.TenantID != 0:
		subject = strings.TrimSuffix(subject, fmt.Sprint(" tenant:", u.Entry.TenantID)) + " of tenant " +
			cmp.Or(u.Entry.TenantName, fmt.Sprint("erased-", u.Entry.TenantID))
	}
	u.By.At = f.Now()
	return fmt.Sprintf("entry %d (%s): %s: %s", u.Entry.Number, u.Entry.Action, subject, cmdutil.AuditChange(u.By))
}

// question asks about the undo, unless it is one harmless change that was named.
func question(
	ctx context.Context,
	f *cmdutil.Factory,
	db *store.DB,
	undone []undo.Undone,
	named bool,
) (q cmdutil.Question, err error) {
	var harmed []string // tenants whose requests will be refused
	for _, u := range undone {
		if audit.FindEvent(u.By.Action).Refuses {
			harmed = append(harmed, u.Entry.TenantName)
		}
	}
	if named && len(undone) == 1 && len(harmed) == 0 {
		return q, nil
	}
	used, err := db.Usage.TenantsSince(ctx, harmed, f.Now().Truncate(24*time.Hour))
	if err != nil {
		return q, err
	}
	q = cmdutil.Question{Text: "Make this change?", Word: cmdutil.WordFor(used)}
	if len(undone) > 1 {
		q.Text = fmt.Sprintf("Make these %d changes?", len(undone))
	}
	q.Facts = cmdutil.Facts(undone, func(u undo.Undone) string {
		if !audit.FindEvent(u.By.Action).Refuses {
			return sentence(f, u)
		}
		return fmt.Sprintf(
			"%s: %s requests of the tenant today",
			sentence(f, u),
			output.Thousands(used[u.Entry.TenantName]),
		)
	})
	return q, nil
}

// explain returns the Error for an entry that is not taken back.
func explain(cmd *cobra.Command, f *cmdutil.Factory, err error, named bool) error {
	refused := (*undo.Error)(nil)
	switch {
	case errors.Is(err, trail.ErrEntryNotFound) && !named:
		return cmdutil.NotFoundErrorf("your login changed nothing within 30 days").WithHint(
			"see: petstorectl audit list",
		)
	case errors.Is(err, trail.ErrEntryNotFound):
		return cmdutil.NotFoundErrorf(
			"%s",
			strings.TrimPrefix(err.Error(), "undo: "),
		).WithHint("see: petstorectl audit list")
	case !errors.As(err, &refused):
		return err
	}
	e := refused.Entry
	plan, ofPlan := strings.CutPrefix(e.Subject, pricing.PlanSubject(""))
	if store.IsForbidden(err) {
		if ofPlan || strings.HasSuffix(e.Action, "void") {
			cmdutil.ForBilling(cmd)
		}
		return err
	}
	explained := cmdutil.RefusedErrorf("%v", refused).WithHint(refused.Hint)
	cause, of := (*cmdutil.Error)(nil), cmdutil.Subject{Tenant: e.TenantName, Key: e.Subject, Plan: plan}
	if refused.Err != nil && errors.As(f.Explain(cmd.Context(), refused.Err, of), &cause) {
		explained.Code, explained.Hint = cause.Code, cmp.Or(refused.Hint, cause.Hint)
		explained.Message = fmt.Sprintf("entry %d (%s) can't be undone: %s", e.Number, e.Action, cause.Message)
	}
	return explained
}
