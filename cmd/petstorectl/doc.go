// Command petstorectl is the command line of staff. It works on the Postgres database of the
// platform.
package main
