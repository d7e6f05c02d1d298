// Package operate stores what those need who operate the platform: logins, reports of servers,
// failed requests, retention, the export and the erasure of a tenant.
package operate
