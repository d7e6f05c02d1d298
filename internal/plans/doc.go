// Package plans defines plans, their quotas, and tenants. Package limits enforces quotas.
package plans
