package main

import (
	"fmt"
	"os"
	"strings"

	"petstore.example/internal/devfile"
	"petstore.example/internal/plans"
)

// welcome says where everything is and what to try first.
func welcome(o *devOptions, n devfile.File, tenant plans.Tenant) {
	state := fmt.Sprintf("is on the %s plan, %d requests a minute", tenant.Plan, tenant.Quota.PerMinute)
	if !tenant.SuspendedAt.IsZero() {
		state = "is suspended, so its key is refused until: bin/petstorectl tenant resume " + tenant.Name
	}
	_, _ = fmt.Fprintf(o.Out, `
The animal store is open: %[1]s  (health and metrics: %[2]s)
To read and to try it in a browser: %[8]s

Tenant %[6]s %[7]s. Its API key:

  %[3]s

List, add, get:

  curl -i -H 'Authorization: Bearer %[3]s' '%[1]s/pets?limit=3'
  curl -i -H 'Authorization: Bearer %[3]s' -H 'Content-Type: application/json' -d '{"name":"Rex","categoryId":7}' %[1]s/pets
  curl -i -H 'Authorization: Bearer %[3]s' %[1]s/pets/1

Staff, in another terminal:

  %[4]sbin/petstorectl key list %[6]s
  %[4]sbin/petstorectl plan assign %[6]s business

Stop with ^C; the data stays in %[5]s.

`, n.BaseURL, n.AdminURL, n.APIKey, staffPrefix(o, n), o.Dir, tenant.Name, state, strings.TrimSuffix(n.BaseURL, "/v1")+"/docs")
}

// staffPrefix names the database to petstorectl where it does not find it by itself. A database that the user named may
// have a password in its URL, and the user has named it already.
func staffPrefix(o *devOptions, n devfile.File) string {
	if o.Dir == devfile.DefaultDir || os.Getenv("PETSTORE_DATABASE_URL") != "" {
		return ""
	}
	return fmt.Sprintf("PETSTORE_DATABASE_URL='%s' ", n.DatabaseURL)
}
