package plans

import (
	"errors"
	"fmt"
	"regexp"
)

// Errors of changes to a tenant. Stores wrap them, so compare with errors.Is.
var (
	// ErrTenantName: the text can't be the name of a tenant.
	ErrTenantName = errors.New("a tenant's name is 1 to 63 characters of a-z, 0-9 and -, and does not begin with -")
	// ErrBillingRef and ErrEmail: the text can't be the tenant's number in a billing system, or an e-mail address.
	ErrBillingRef = errors.New("a billing reference is 1 to 100 characters of A-Z, a-z, 0-9 and . _ : / -, and begins with a letter or a digit")
	ErrEmail      = errors.New("an e-mail address is NAME@HOST, with at most 254 characters and no spaces")
	// ErrTenantSuspended: the tenant was suspended before.
	ErrTenantSuspended = errors.New("the tenant is suspended")
	// ErrTenantNotSuspended: the tenant to resume is in good standing.
	ErrTenantNotSuspended = errors.New("the tenant is not suspended")
)

var (
	tenantName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	billingRef = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$`)
	email      = regexp.MustCompile(`^[^@\s\pC\pZ]+@[^@\s\pC\pZ]+$`)
)

// CheckTenantName returns ErrTenantName for a text that can't be the name of a tenant.
func CheckTenantName(name string) error {
	if !tenantName.MatchString(name) {
		return fmt.Errorf("name %.80q: %w", name, ErrTenantName)
	}
	return nil
}

// maxEmail is the most characters of an address that mail can be sent to (RFC 5321).
const maxEmail = 254

// CheckContact returns ErrBillingRef or ErrEmail for a text that can't be one; "" stands for none.
func CheckContact(ref, address string) error {
	switch {
	case ref != "" && !billingRef.MatchString(ref):
		return fmt.Errorf("%.80q: %w", ref, ErrBillingRef)
	case address != "" && (len(address) > maxEmail || !email.MatchString(address)):
		return ErrEmail
	}
	return nil
}
