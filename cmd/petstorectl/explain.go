package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

const (
	// suggestTimeout bounds the search for the name that was meant.
	suggestTimeout = 2 * time.Second
	// suggestNames is among how many names it is sought.
	suggestNames = 10_000
)

// about is what a command was about, for the words of its errors.
type about struct{ tenant, plan, key string }

// explain puts an error of the domain into words, with what to do next. Other errors stay as they are.
func (f *factory) explain(ctx context.Context, err error, a about) error {
	if err == nil {
		return nil
	}
	message, hint := f.words(ctx, err, a)
	if message == "" {
		return err
	}
	return &problem{code: codeOf(err), message: message, hint: hint}
}

func (f *factory) words(ctx context.Context, err error, a about) (message, hint string) {
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case is(plans.ErrTenantNotFound):
		return fmt.Sprintf("no tenant %q", a.tenant) + f.suggest(ctx, a.tenant, f.tenantNames), "see: petstorectl tenant list"
	case is(plans.ErrPlanNotFound):
		return fmt.Sprintf("no plan %q", a.plan) + f.suggest(ctx, a.plan, f.planNames), "see: petstorectl plan list"
	case is(keys.ErrKeyNotFound):
		return fmt.Sprintf("no key %q", a.key) + f.suggest(ctx, a.key, f.keyIDs), "see: petstorectl key list"
	case is(keys.ErrBanNotFound):
		return "key " + a.key + " is not banned", "see: petstorectl ban list --all"
	case is(plans.ErrTenantExists):
		return fmt.Sprintf("tenant %q already exists", a.tenant), "see: petstorectl tenant show " + a.tenant
	case is(plans.ErrTenantSuspended):
		return "tenant " + a.tenant + " is already suspended", "see: petstorectl tenant show " + a.tenant
	case is(plans.ErrTenantNotSuspended):
		return "tenant " + a.tenant + " is not suspended", ""
	case is(plans.ErrQuotaRequired):
		return "plan " + a.plan + " has no quota of its own", "give the tenant's quota: --per-minute N --per-day N"
	case is(plans.ErrQuotaFixed):
		return "plan " + a.plan + " has a fixed quota", "omit --per-minute and --per-day, or see: petstorectl plan list"
	case is(keys.ErrTooManyKeys):
		return fmt.Sprintf("tenant %s already has %d active keys, the maximum", a.tenant, keys.MaxActive),
			"revoke one first: petstorectl key list " + a.tenant
	case is(keys.ErrKeyRevoked):
		return "key " + a.key + " is already revoked", "see: petstorectl key show " + a.key
	case is(keys.ErrKeyExpired):
		return "key " + a.key + " has expired", "issue a new one: petstorectl key issue TENANT"
	case is(plans.ErrTenantName):
		return fmt.Sprintf("invalid tenant name %.80q", a.tenant), "a name is 1 to 63 characters of a-z, 0-9 and -, and does not begin with -"
	case is(keys.ErrKeyName):
		return "invalid key name", "a name is at most 100 characters, none of them a control character"
	case is(keys.ErrExpiryPast):
		return "--expires is in the past", "give a time in the future"
	case is(keys.ErrMalformed):
		return "not an API key: its format or checksum is wrong", "was it copied completely? A key has 45 characters"
	}
	return "", ""
}

// suggest asks the database for the names there are. It says nothing when that fails: the error to report is another.
func (f *factory) suggest(ctx context.Context, name string, list lister) string {
	ctx, cancel := context.WithTimeout(ctx, suggestTimeout)
	defer cancel()
	names, err := list(ctx, "", suggestNames)
	if err != nil {
		return ""
	}
	return didYouMean(name, names)
}
