package cmdutil

import (
	"context"
	"fmt"
	"strings"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/store/tenancy"
)

// maxShared is how many tenants with the same billing reference are named.
const maxShared = 5

// WithRef returns tenants that have the billing reference; none for "".
func WithRef(ctx context.Context, db *store.DB, ref string) ([]plans.Tenant, error) {
	if ref == "" {
		return nil, nil
	}
	var found []plans.Tenant
	for t, err := range db.Tenants.List(ctx, tenancy.TenantFilter{BillingRef: ref, Limit: maxShared + 1}) {
		if err != nil {
			return nil, err
		}
		found = append(found, t.Tenant)
	}
	return found, nil
}

// SharedRef is a line about other tenants with the same billing reference, "" if there are none.
func SharedRef(tenantID int64, ref string, others []plans.Tenant) string {
	var names []string
	for _, other := range others {
		if other.ID != tenantID && len(names) < maxShared {
			names = append(names, other.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("\nbilling reference %s is also that of %s: they are billed together",
		ref, strings.Join(names, ", "))
}

// FormerRef returns a line about the hours of a reference that a tenant had, "" if there was none or
// it has it still.
func FormerRef(before, after string) string {
	if before == "" || before == after {
		return ""
	}
	return "\nhours handed on before, if any, stay with " + before +
		", and so do their corrections: see petstorectl usage resend"
}

// MissingText says which usage a receiver does not have.
func MissingText(m billing.Missing) string {
	return fmt.Sprintf("%s: %s of %s", m.Receiver, output.Count(m.Admitted, "request"), output.Count(m.Hours, "hour"))
}
