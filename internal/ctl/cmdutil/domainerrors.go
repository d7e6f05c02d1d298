package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/migrate"
)

// domainError is what an error of another package means here. Without a message the error speaks for itself.
type domainError struct {
	err  error
	code int
	// {tenant}, {plan} and {key} stand for the names of the Subject, {max} for the most active keys that a tenant may have.
	message, hint string
}

// domainErrors are tried in order: the first match counts.
var domainErrors = []domainError{
	{err: context.Canceled, code: ExitInterrupted},
	{err: store.ErrUnavailable, code: ExitDatabase},
	{err: migrate.ErrLocked, code: ExitDatabase},
	{err: migrate.ErrNewer, code: ExitDatabase},
	{plans.ErrTenantNotFound, ExitNotFound, `no tenant "{tenant}"`, "see: petstorectl tenant list"},
	{plans.ErrPlanNotFound, ExitNotFound, `no plan "{plan}"`, "see: petstorectl plan list"},
	{keys.ErrKeyNotFound, ExitNotFound, `no key "{key}"`, "see: petstorectl key list"},
	{keys.ErrBanNotFound, ExitNotFound, "key {key} is not banned", "see: petstorectl ban list --all"},
	{plans.ErrTenantExists, ExitRefused, `tenant "{tenant}" already exists`, "see: petstorectl tenant show {tenant}"},
	{plans.ErrTenantSuspended, ExitRefused, "tenant {tenant} is already suspended", "see: petstorectl tenant show {tenant}"},
	{plans.ErrTenantNotSuspended, ExitRefused, "tenant {tenant} is not suspended", ""},
	{plans.ErrQuotaRequired, ExitRefused, "plan {plan} has no quota of its own", "give the tenant's quota: --per-minute N --per-day N"},
	{plans.ErrQuotaFixed, ExitRefused, "plan {plan} has a fixed quota", "omit --per-minute and --per-day, or see: petstorectl plan list"},
	{keys.ErrTooManyKeys, ExitRefused, "tenant {tenant} already has {max} active keys, the maximum", "revoke one first: petstorectl key list {tenant}"},
	{keys.ErrKeyRevoked, ExitRefused, "key {key} is already revoked", "see: petstorectl key show {key}"},
	{keys.ErrKeyExpired, ExitRefused, "key {key} has expired", "issue a new one: petstorectl key issue TENANT"},
	{plans.ErrTenantName, ExitUsage, `invalid tenant name "{tenant}"`, "a name is 1 to 63 characters of a-z, 0-9 and -, and does not begin with -"},
	{keys.ErrKeyName, ExitUsage, "invalid key name", "a name has at most 100 characters"},
	{err: keys.ErrPerMinute, code: ExitUsage},
	{keys.ErrExpiryPast, ExitUsage, "--expires is in the past", "give a time in the future"},
	{err: keys.ErrTextContainsKey, code: ExitUsage},
	{err: keys.ErrTextCharacter, code: ExitUsage},
	{keys.ErrMalformed, ExitUsage, "not an API key: its format or checksum is wrong", "was it copied completely? A key has 45 characters"},
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
type Subject struct{ Tenant, Plan, Key string }

// Explain returns the Error for an error of the domain, with its texts about the subject. Other errors stay as they are.
func (f *Factory) Explain(ctx context.Context, err error, s Subject) error {
	d := findDomainError(err)
	if err == nil || d == nil || d.message == "" {
		return err
	}
	fill := strings.NewReplacer("{tenant}", short(s.Tenant), "{plan}", short(s.Plan), "{key}", short(s.Key), "{max}", fmt.Sprint(keys.MaxActive))
	e := &Error{Code: d.code, Message: fill.Replace(d.message), Hint: fill.Replace(d.hint)}
	switch {
	case errors.Is(err, plans.ErrTenantNotFound):
		e.Message += suggest(ctx, s.Tenant, TenantNames(f))
	case errors.Is(err, plans.ErrPlanNotFound):
		e.Message += suggest(ctx, s.Plan, PlanNames(f))
	case errors.Is(err, keys.ErrKeyNotFound):
		e.Message += suggest(ctx, s.Key, KeyIDs(f))
	}
	return e
}

// short cuts a name that was typed: it may be of any length.
func short(name string) string { return fmt.Sprintf("%.80s", name) }

const (
	// suggestTimeout bounds the search for the name that was meant.
	suggestTimeout = 2 * time.Second
	// suggestNames is how many names are searched.
	suggestNames = 10_000
)

// suggest looks up the names in the database. It returns nothing if that fails: the error to report is another one.
func suggest(ctx context.Context, name string, list Lister) string {
	ctx, cancel := context.WithTimeout(ctx, suggestTimeout)
	defer cancel()
	names, err := list(ctx, "", suggestNames)
	if err != nil {
		return ""
	}
	return didYouMean(name, names)
}
