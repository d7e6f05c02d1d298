// Package admin stores what operators of the platform need: logins, reports of servers, failed
// requests, retention, the export and the erasure of a tenant.
package admin
