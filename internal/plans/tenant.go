package plans

import (
	"errors"
	"fmt"
	"net/mail"
	"regexp"
	"unicode/utf8"
)

// Errors of changes to a tenant. Stores wrap them, so compare with errors.Is.
var (
	// ErrTenantName: the text can't be the name of a tenant.
	ErrTenantName = errors.New(
		"a tenant's name is 1 to 63 characters of a-z, 0-9 and -, does not begin with -, and is not erased-NUMBER",
	)
	// ErrBillingRef and ErrEmail: the text can't be the tenant's number in a billing system, or an
	// e-mail address.
	ErrBillingRef = errors.New(
		"a billing reference is 1 to 100 characters of A-Z, a-z, 0-9 and . _ : / -, and begins with a letter or a " +
			"digit",
	)
	ErrEmail = errors.New("an e-mail address is NAME@HOST alone, such as ops@example.org, with at most 254 characters")
	// ErrContact and ErrNotes: the text is too long.
	ErrContact = errors.New("a contact has at most 200 characters")
	ErrNotes   = errors.New("notes have at most 1,000 characters")
	// ErrTenantSuspended: the tenant is already suspended.
	ErrTenantSuspended = errors.New("the tenant is suspended")
	// ErrTenantNotSuspended: the tenant to resume or erase is in good standing.
	ErrTenantNotSuspended = errors.New("the tenant is not suspended")
	// ErrNoEmail, ErrEmailConfirmed and ErrEmailAsked: the tenant's address can't be asked to confirm.
	ErrNoEmail        = errors.New("the tenant has no e-mail address")
	ErrEmailConfirmed = errors.New("the address is confirmed")
	ErrEmailAsked     = errors.New("the address was asked 3 times within 30 days")
	// ErrEmailUnconfirmed: nothing but a request to confirm is sent to the tenant's address.
	ErrEmailUnconfirmed = errors.New("the tenant has no confirmed e-mail address")
	// ErrTenantErased: an erased tenant can't be changed.
	ErrTenantErased = errors.New("the tenant was erased")
)

var (
	tenantName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	erasedName = regexp.MustCompile(`^erased-[0-9]+$`)
	billingRef = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$`)
	email      = regexp.MustCompile(`^[^@\s\pC\pZ]+@[^@\s\pC\pZ]+$`)
)

// CheckTenantName returns ErrTenantName for a text that can't be the name of a tenant, or is the
// name of an erased one.
func CheckTenantName(name string) error {
	if !tenantName.MatchString(name) || erasedName.MatchString(name) {
		return fmt.Errorf("name %.80q: %w", name, ErrTenantName)
	}
	return nil
}

// ErasedName is the name of an erased tenant with that number. No other tenant has such a name.
func ErasedName(id int64) string { return fmt.Sprintf("erased-%d", id) }

// Erased reports whether the tenant was erased. Constraints tie the name to erased_at: only an
// erased tenant has such a name.
func (t *Tenant) Erased() bool { return t.Name == ErasedName(t.ID) }

const (
	// maxEmail is the maximum length of an address that mail can be sent to (RFC 5321).
	maxEmail   = 254
	maxContact = 200
	maxNotes   = 1000
)

// Check returns ErrBillingRef, ErrEmail, ErrContact or ErrNotes for a text that can't be in a
// profile.
func (p Profile) Check() error {
	switch {
	case p.BillingRef != "" && !billingRef.MatchString(p.BillingRef):
		return fmt.Errorf("%.80q: %w", p.BillingRef, ErrBillingRef)
	case p.Email != "" && !isEmail(p.Email):
		return ErrEmail
	case utf8.RuneCountInString(p.Contact) > maxContact:
		return ErrContact
	case utf8.RuneCountInString(p.Notes) > maxNotes:
		return ErrNotes
	}
	return nil
}

// isEmail reports whether the text is an address alone, as mail can be sent to.
func isEmail(text string) bool {
	parsed, err := mail.ParseAddress(text)
	return err == nil && parsed.Address == text && len(text) <= maxEmail && email.MatchString(text)
}
