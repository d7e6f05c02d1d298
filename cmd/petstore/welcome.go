package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"petstore.example/internal/devfile"
	"petstore.example/internal/envvars"
	"petstore.example/internal/plans"
)

// welcome prints the addresses, the key and commands to try first.
func welcome(o *devOptions, n devfile.File, tenant plans.Tenant) {
	state := fmt.Sprintf("is on the %s plan: %d requests per minute", tenant.Plan, tenant.Quota.PerMinute)
	if !tenant.SuspendedAt.IsZero() {
		state = "is suspended, so its key is refused. Resume it: bin/petstorectl tenant resume " + tenant.Name
	}
	_, _ = fmt.Fprintf(o.Out, `
API: %[1]s  (health and metrics: %[2]s)
Documentation: %[8]s

Tenant %[6]s %[7]s. Its API key:

  %[3]s

List and create animals, and see your limits and usage:

  curl -i -H 'Authorization: Bearer %[3]s' '%[1]s/pets?limit=3'
  curl -i -H 'Authorization: Bearer %[3]s' -H 'Content-Type: application/json' -d '{"name":"Rex","categoryId":7}' %[1]s/pets
  curl -i -H 'Authorization: Bearer %[3]s' %[1]s/usage

Staff, in another terminal:

  %[4]sbin/petstorectl key list %[6]s
  %[4]sbin/petstorectl plan assign %[6]s business

A key that floods the API after 429 is banned: here for %[9]d seconds at first, in production for 15 minutes. Lift the ban:

  %[4]sbin/petstorectl ban lift %[6]s

See how your program takes an error, with a test key (%[8]s/clients#try-every-error):

  curl -i -H "Authorization: Bearer $(%[4]sbin/petstorectl key issue %[6]s --environment test --expires 1d)" -H 'X-Petstore-Simulate: daily_quota_exceeded' %[1]s/pets

Stop with ^C. The next start with --dir %[5]s has the same data and the same key.

`, n.BaseURL, n.AdminURL, n.APIKey, staffPrefix(o, n), o.Dir, tenant.Name, state, strings.TrimSuffix(n.BaseURL, "/v1")+"/docs",
		firstDevBan/time.Second)
}

// staffPrefix returns the environment that petstorectl needs to find the database, "" if it needs none. It never prints the URL of
// PETSTORE_DATABASE_URL or its file, which may contain a password and is set already.
func staffPrefix(o *devOptions, n devfile.File) string {
	if o.Dir == devfile.DefaultDir || os.Getenv(databaseVariable) != "" || os.Getenv(databaseVariable+envvars.FileSuffix) != "" {
		return ""
	}
	return fmt.Sprintf("PETSTORE_DATABASE_URL='%s' ", n.DatabaseURL)
}
