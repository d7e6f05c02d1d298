// Package ctl is the command line of staff: tenants, keys, plans, bans, usage, the audit trail and
// migrations. Each noun has a package, each verb a file in it.
package ctl
