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
		return "no ban is in force on key " + a.key, "see: petstorectl ban list --all"
	case is(plans.ErrTenantExists):
		return fmt.Sprintf("tenant %q exists already", a.tenant), "see: petstorectl tenant show " + a.tenant
	case is(plans.ErrTenantSuspended):
		return a.tenant + " is suspended already", "see: petstorectl tenant show " + a.tenant
	case is(plans.ErrTenantNotSuspended):
		return a.tenant + " is not suspended", ""
	case is(plans.ErrQuotaRequired):
		return "plan " + a.plan + " has no numbers of its own", "add the tenant's: --per-minute N --per-day N"
	case is(plans.ErrQuotaFixed):
		return "plan " + a.plan + " has its own numbers", "leave out --per-minute and --per-day, or see: petstorectl plan list"
	case is(keys.ErrTooManyKeys):
		return fmt.Sprintf("%s has %d active keys, the most a tenant may have", a.tenant, keys.MaxActive),
			"revoke one first: petstorectl key list " + a.tenant
	case is(keys.ErrKeyRevoked):
		return "key " + a.key + " is revoked already", "see: petstorectl key show " + a.key
	case is(keys.ErrKeyExpired):
		return "key " + a.key + " has expired", "issue another: petstorectl key issue"
	case is(plans.ErrTenantName):
		return fmt.Sprintf("%.80q can't be a tenant's name", a.tenant), "want 1 to 63 of a-z, 0-9 and -, not beginning with -"
	case is(keys.ErrKeyName):
		return "that can't be a key's name", "want at most 100 characters, none of them a control character"
	case is(keys.ErrExpiryPast):
		return "the key would be born expired", "give --expires a time in the future"
	case is(keys.ErrMalformed):
		return "that is no API key of ours: its form or its checksum is wrong", "was all of it copied? It has 45 characters."
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
