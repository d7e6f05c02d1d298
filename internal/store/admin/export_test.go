package admin

import "slices"

// TenantColumns returns the columns of each table with rows of tenants, as an export has them in
// SQL, and those that it omits.
func TenantColumns() map[string][]string {
	tables := map[string][]string{}
	for _, t := range tenantTables {
		tables[t.name] = slices.Concat(t.columns, t.omitted)
	}
	return tables
}
