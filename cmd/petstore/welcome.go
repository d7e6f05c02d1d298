package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"petstore.example/internal/devfile"
	"petstore.example/internal/envvars"
	"petstore.example/internal/plans"
	"petstore.example/internal/server/config"
)

// welcome prints the addresses, the keys and the first commands to try. prefix is the result of
// staffPrefix.
func welcome(to io.Writer, dir string, n devfile.File, tenant plans.Tenant, prefix string) {
	state := fmt.Sprintf("is on the %s plan: %d requests per minute", tenant.Plan, tenant.Quota.PerMinute)
	if !tenant.SuspendedAt.IsZero() {
		state = "is suspended, so its keys are refused. Resume it: bin/petstorectl tenant resume " + tenant.Name
	}
	export := ""
	if prefix != "" {
		export = "  export " + strings.TrimSpace(prefix) + "\n"
	}
	_, _ = fmt.Fprintf(to, `
API: %[1]s  (health and metrics: %[2]s)
Documentation: %[3]s
Account: %[11]s  (sign in with the API key below)

Tenant %[4]s %[5]s. In another terminal, in this folder:

  export PETSTORE_URL=%[1]s
  export PETSTORE_API_KEY=%[6]s
  export PETSTORE_TEST_API_KEY=%[7]s
%[8]s
List and create animals, and see your limits and usage:

  curl -i "$PETSTORE_URL/pets?limit=3" -H "Authorization: Bearer $PETSTORE_API_KEY"
  curl -i "$PETSTORE_URL/pets" -H "Authorization: Bearer $PETSTORE_API_KEY" \
    -H 'Content-Type: application/json' -d '{"name":"Rex","categoryId":7}'
  curl -i "$PETSTORE_URL/usage" -H "Authorization: Bearer $PETSTORE_API_KEY"

Issue a key, which may then only read:

  curl -i "$PETSTORE_URL/keys" -H "Authorization: Bearer $PETSTORE_API_KEY" \
    -H 'Content-Type: application/json' -d '{"name":"dashboard","scope":"read"}'

The test key is the sandbox's: it gets any error that you ask for, so that you see how your program handles it.

  curl -i "$PETSTORE_URL/pets" -H "Authorization: Bearer $PETSTORE_TEST_API_KEY" \
    -H 'X-Petstore-Simulate: daily_quota_exceeded'

Staff:

  bin/petstorectl key list --tenant %[4]s
  bin/petstorectl plan assign %[4]s business

A key that floods the API after 429 is banned, here for %[9]d seconds at first (in production 15 minutes). Lift the ban:

  bin/petstorectl ban lift %[4]s

Stop with ^C. The next start with --dir %[10]s has the same data and the same keys.

`, n.BaseURL, n.AdminURL, strings.TrimSuffix(n.BaseURL, "/v1")+"/docs", tenant.Name, state, n.APIKey, n.TestAPIKey,
		export,
		firstDevBan/time.Second, dir, strings.TrimSuffix(n.BaseURL, "/v1")+"/account")
}

// staffPrefix returns the variable by which petstorectl finds the database, as a shell sets it
// before a command; "" if none is needed. A PETSTORE_DATABASE_URL that is set, or its file, is not
// shown: it needs no prefix and may contain a password.
func staffPrefix(given, dir string) string {
	if given == devfile.DefaultDir || os.Getenv(config.DatabaseVariable) != "" ||
		os.Getenv(config.DatabaseVariable+envvars.FileSuffix) != "" {
		return ""
	}
	quoted := strings.ReplaceAll(filepath.Join(dir, devfile.URLName), "'", `'\''`)
	return fmt.Sprintf("%s%s='%s' ", config.DatabaseVariable, envvars.FileSuffix, quoted)
}
