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
	// ErrTenantSuspended: the tenant was suspended before.
	ErrTenantSuspended = errors.New("the tenant is suspended")
	// ErrTenantNotSuspended: the tenant to resume is in good standing.
	ErrTenantNotSuspended = errors.New("the tenant is not suspended")
)

var tenantName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// CheckTenantName returns ErrTenantName for a text that can't be the name of a tenant.
func CheckTenantName(name string) error {
	if !tenantName.MatchString(name) {
		return fmt.Errorf("name %.80q: %w", name, ErrTenantName)
	}
	return nil
}
