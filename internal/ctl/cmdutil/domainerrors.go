package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/store/migrate"
	"petstore.example/internal/store/tenancy"
)

// domainError says what an error of another package means here. Without a message, the error's own
// text is shown.
type domainError struct {
	err  error
	code int
	// {tenant}, {plan}, {key} and {assignment} stand for the names of the Subject, {max} for the
	// most active keys that a tenant may have.
	message, hint string
}

// domainErrors are tried in order: the first match counts.
var domainErrors = []domainError{
	{err: context.Canceled, code: ExitInterrupted},
	{err: store.ErrUnavailable, code: ExitDatabase},
	{err: admin.ErrAuditBusy, code: ExitRefused},
	{err: migrate.ErrLocked, code: ExitDatabase},
	{err: migrate.ErrNewer, code: ExitDatabase},
	{plans.ErrTenantNotFound, ExitNotFound, `no tenant "{tenant}"`, "see: petstorectl tenant list"},
	{plans.ErrPlanNotFound, ExitNotFound, `no plan "{plan}"`, "see: petstorectl plan list"},
	{
		plans.ErrMonthsOff,
		ExitRefused,
		"no month is enforced while a server of the last release is alive",
		"finish the upgrade first: petstorectl doctor names the servers",
	},
	{keys.ErrKeyNotFound, ExitNotFound, `no key "{key}"`, "see: petstorectl key list"},
	{tenancy.ErrNotInList, ExitRefused, "key {key} is no longer in this list", "begin again without --after"},
	{keys.ErrBanNotFound, ExitNotFound, "key {key} is not banned", "see: petstorectl ban list --past"},
	{plans.ErrTenantExists, ExitRefused, `tenant "{tenant}" already exists`, "see: petstorectl tenant show {tenant}"},
	{
		plans.ErrTenantSuspended,
		ExitRefused,
		"tenant {tenant} is already suspended",
		"see: petstorectl tenant show {tenant}",
	},
	{plans.ErrTenantNotSuspended, ExitRefused, "tenant {tenant} is not suspended", ""},
	{
		plans.ErrNoEmail,
		ExitRefused,
		"tenant {tenant} has no e-mail address",
		"petstorectl tenant edit {tenant} --email ADDRESS",
	},
	{plans.ErrEmailConfirmed, ExitRefused, "the address of tenant {tenant} is confirmed", ""},
	{
		plans.ErrEmailAsked,
		ExitRefused,
		"the address of tenant {tenant} was asked 3 times within 30 days",
		"ask the customer",
	},
	{
		plans.ErrEmailUnconfirmed,
		ExitRefused,
		"tenant {tenant} has no address that was confirmed and takes mail",
		"ask it: petstorectl tenant edit {tenant} --confirm-email; or send a link by yourself, without --mail",
	},
	{plans.ErrTenantErased, ExitRefused, "tenant {tenant} was erased", "see: petstorectl tenant show {tenant}"},
	{
		plans.ErrQuotaRequired,
		ExitRefused,
		"plan {plan} has no quota of its own",
		"give the tenant's quota: --per-minute N --per-day N",
	},
	{
		plans.ErrQuotaFixed,
		ExitRefused,
		"plan {plan} has a fixed quota",
		"omit the numbers, or see: petstorectl plan list",
	},
	{
		plans.ErrThenQuota, ExitRefused, "plan {plan} has no quota of its own, so it can't follow with --then",
		"assign it as well: petstorectl plan assign TENANT {plan} --from WHEN --per-minute N --per-day N",
	},
	{err: plans.ErrQuota, code: ExitUsage},
	{plans.ErrInPast, ExitUsage, "--from is in the past", "give a time in the future, or omit it for now"},
	{plans.ErrNoTime, ExitUsage, "--until is not after the beginning", "give a later time"},
	{plans.ErrAssignmentNotFound, ExitNotFound, "no assignment {assignment}", "see: petstorectl plan schedule"},
	{
		plans.ErrAssignmentBegun,
		ExitRefused,
		"assignment {assignment} has begun",
		"what has begun is never changed: petstorectl plan assign TENANT PLAN",
	},
	{
		plans.ErrAssignmentBegins,
		ExitRefused,
		"a change that is scheduled begins within 2 seconds",
		"wait until it has begun, then assign another plan",
	},
	{
		plans.ErrAssignmentNotBegun,
		ExitRefused,
		"assignment {assignment} has not begun",
		"remove it: petstorectl plan unschedule {assignment}",
	},
	{
		plans.ErrAssignmentVoid,
		ExitRefused,
		"assignment {assignment} is already void",
		"see: petstorectl plan history TENANT",
	},
	{
		plans.ErrAssignmentNotVoid,
		ExitRefused,
		"assignment {assignment} is not void",
		"see: petstorectl plan history TENANT",
	},
	{
		keys.ErrTooManyKeys,
		ExitRefused,
		"tenant {tenant} already has {max} active keys that were not rotated, the maximum",
		"revoke one first: petstorectl key list --tenant {tenant}",
	},
	{keys.ErrKeyRevoked, ExitRefused, "key {key} is already revoked", "see: petstorectl key show {key}"},
	{keys.ErrKeyExpired, ExitRefused, "key {key} has expired", "issue a new one: petstorectl key issue TENANT"},
	{
		plans.ErrTenantName,
		ExitUsage,
		`invalid tenant name "{tenant}"`,
		"a name is 1 to 63 characters of a-z, 0-9 and -, does not begin with -, and is not erased-NUMBER",
	},
	{plans.ErrPlanExists, ExitRefused, `plan "{plan}" already exists`, "see: petstorectl plan show {plan}"},
	{
		plans.ErrPlanRetired,
		ExitRefused,
		"plan {plan} is retired: it is assigned to nobody new",
		"see: petstorectl plan list",
	},
	{plans.ErrPlanNotBegun, ExitRefused, "plan {plan} can't be assigned yet", "see: petstorectl plan show {plan}"},
	{
		plans.ErrNoNumbers,
		ExitRefused,
		"plan {plan} has no numbers of its own: its quota is agreed with each tenant",
		"petstorectl plan assign TENANT {plan} --per-minute N --per-day N",
	},
	{plans.ErrVersionNotFound, ExitNotFound, "plan {plan} has no such version", "see: petstorectl plan show {plan}"},
	{
		plans.ErrVersionNotLast,
		ExitRefused,
		"a later version of plan {plan} is scheduled: withdraw that one first",
		"petstorectl plan withdraw {plan}",
	},
	{
		plans.ErrVersionFirst,
		ExitRefused,
		"plan {plan} keeps its first version",
		"retire the plan: petstorectl plan retire {plan}",
	},
	{
		plans.ErrVersionBegun,
		ExitRefused,
		"the version has begun, or begins at this moment: it stays",
		"edit the plan again: petstorectl plan edit {plan} --help",
	},
	{
		plans.ErrVersionFollowed,
		ExitRefused,
		"scheduled assignments follow that version of plan {plan}",
		"unschedule them first: petstorectl plan schedule --help",
	},
	{
		plans.ErrPlanName,
		ExitUsage,
		`invalid plan name "{plan}"`,
		"a name is 1 to 63 characters of a-z, 0-9 and -, and does not begin with -",
	},
	{
		plans.ErrVersionPast,
		ExitUsage,
		"--from is in the past: what was in force is never changed",
		"give a time in the future, or omit --from for now",
	},
	{err: plans.ErrBillingRef, code: ExitUsage},
	{err: plans.ErrEmail, code: ExitUsage},
	{err: plans.ErrContact, code: ExitUsage},
	{err: plans.ErrNotes, code: ExitUsage},
	{keys.ErrKeyName, ExitUsage, "invalid key name", "a name has at most 100 characters"},
	{err: keys.ErrPerMinute, code: ExitUsage},
	{err: keys.ErrScope, code: ExitUsage},
	{keys.ErrExpiryPast, ExitUsage, "--expires is in the past", "give a time in the future"},
	{err: keys.ErrTextContainsKey, code: ExitUsage},
	{err: keys.ErrTextCharacter, code: ExitUsage},
	{err: keys.ErrTextBlank, code: ExitUsage},
	{
		keys.ErrMalformed,
		ExitUsage,
		"not an API key: its format or checksum is wrong",
		"was it copied completely? A key has 45 characters",
	},
}

func findDomainError(err error) *domainError {
	for i := range domainErrors {
		if errors.Is(err, domainErrors[i].err) {
			return &domainErrors[i]
		}
	}
	return nil
}

// Subject is what a command is about, for the texts of its errors.
type Subject struct{ Tenant, Plan, Key, Assignment string }

// Explain returns the Error for an error of the domain, with its texts about the subject. Other
// errors are unchanged.
func (f *Factory) Explain(ctx context.Context, err error, s Subject) error {
	if scheduled := (plans.VersionScheduledError{}); errors.As(err, &scheduled) {
		return scheduledError(scheduled.Scheduled)
	}
	if byDay := (billing.ByDayError{}); errors.As(err, &byDay) {
		return RefusedErrorf("%v: its hours are summed into days", byDay).WithHint("begin at that day or later")
	}
	d := findDomainError(err)
	if err == nil || d == nil || d.message == "" {
		return err
	}
	if ofPlan := (plans.PlanError{}); errors.As(err, &ofPlan) {
		s.Plan = ofPlan.Plan
	}
	fill := strings.NewReplacer(
		"{tenant}",
		short(s.Tenant),
		"{plan}",
		short(s.Plan),
		"{key}",
		short(s.Key),
		"{assignment}",
		short(s.Assignment),
		"{max}",
		fmt.Sprint(keys.MaxActive),
	)
	e := &Error{Code: d.code, Message: fill.Replace(d.message), Hint: fill.Replace(d.hint)}
	switch {
	case errors.Is(err, plans.ErrTenantNotFound):
		e.Message += suggest(ctx, s.Tenant, storedTenants(f))
	case errors.Is(err, plans.ErrPlanNotFound):
		e.Message += suggest(ctx, s.Plan, PlanNames(f))
	case errors.Is(err, keys.ErrKeyNotFound):
		e.Message += suggest(ctx, s.Key, storedKeys(f))
		if !strings.HasPrefix(s.Key, "key_") && plainWord.MatchString(s.Key) {
			e.Hint = "the ID of a key begins with key_; to find it: petstorectl why " + short(s.Key)
		}
	}
	return e
}

// scheduledError says what to do about a scheduled version that is in the way of an earlier one.
func scheduledError(v plans.Version) *Error {
	return RefusedErrorf(
		"version %d of plan %s is scheduled from %s on, and no version begins before it",
		v.Number,
		v.Plan,
		output.Text(v.From),
	).
		WithHint(
			fmt.Sprintf(
				"edit from a later time on, or withdraw it first: petstorectl plan withdraw %s %d",
				v.Plan,
				v.Number,
			),
		)
}

// short cuts a typed name, which may have any length.
func short(name string) string { return fmt.Sprintf("%.80s", name) }

const (
	// suggestTimeout bounds the search for the meant name.
	suggestTimeout = 2 * time.Second
	// suggestNames is how many names are searched.
	suggestNames = 10_000
)

// SuggestTenant is "; did you mean …?" with the name of a tenant, or nothing if none is similar.
func SuggestTenant(ctx context.Context, f *Factory, name string) string {
	return suggest(ctx, name, func(ctx context.Context, prefix string, limit int) ([]string, error) {
		if prefix == "" {
			// Only names with the same first letter, so that there are few.
			prefix = fmt.Sprintf("%.1s", name)
		}
		return TenantNames(f)(ctx, prefix, limit)
	})
}

// suggest returns the stored name that was probably meant, "" for none. It searches the names that
// begin alike first, because there may be more names than suggestNames. If a search fails it
// returns "", because the caller has another error to report.
func suggest(ctx context.Context, name string, list Lister) string {
	ctx, cancel := context.WithTimeout(ctx, suggestTimeout)
	defer cancel()
	for _, prefix := range []string{fmt.Sprintf("%.2s", name), ""} {
		names, err := list(ctx, prefix, suggestNames)
		if err != nil {
			return ""
		}
		for i, name := range names {
			names[i], _, _ = strings.Cut(name, "\t")
		}
		if meant := didYouMean(name, names); meant != "" {
			return meant
		}
	}
	return ""
}
