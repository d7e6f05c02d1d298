// Package ctl is the command line of staff: tenants, keys, plans, bans, usage, the audit trail and
// migrations. Each noun has a package, in which short verbs share its file.
package ctl
