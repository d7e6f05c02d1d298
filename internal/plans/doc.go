// Package plans says what is sold: plans, the quotas that they set, and the tenants that buy them. Package limits enforces quotas.
package plans
