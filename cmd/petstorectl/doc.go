// Command petstorectl is the staff's command line on the platform's Postgres: tenants, keys, plans, bans, usage, the
// audit trail and migrations.
//
// A command is an options struct in two blocks (what it can do, then what was asked), a constructor that fills it from
// arguments and flags, and a run function that knows nothing of Cobra. Data goes to stdout, talk to stderr. A terminal
// gets a table, a pipe plain rows separated by tabs. The exit code says what kind of thing went wrong; see errors.go.
package main
