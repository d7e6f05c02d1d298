package ctl

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"petstore.example/internal/staff"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// TestLogins runs the scripts of testdata/logins on one server with TLS and passwords, and looks
// for secrets where none may be. Roles belong to the server: each script has logins of its own.
func TestLogins(t *testing.T) {
	t.Parallel()
	server := storetest.NewTLSServer(t)
	execSQL(t, server.URL, `
		create role petstore_admin login createrole in role petstore_support, pg_signal_backend;
		create role hal login createrole in role petstore_support; -- who may not end sessions
		grant petstore_support, petstore_billing to petstore_admin, hal with admin option;
		create role carol login in role petstore_support`)
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:                 "testdata/logins",
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
			UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
			Setup:               func(e *testscript.Env) error { return setUpLogins(e, server) },
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"member":  setMember,
				"sqlas":   runSQL,
				"session": beginSession,
				"ended":   checkEnded,
				"append":  appendSecret,
			},
		})
	})
	checkNoSecrets(t, server)
}

func setUpLogins(e *testscript.Env, server *storetest.TLSServer) error {
	t, ok := e.T().(testing.TB)
	if !ok {
		return fmt.Errorf("%T is no test", e.T())
	}
	home := filepath.Join(e.WorkDir, "home")
	for name, value := range map[string]string{
		"OWNER_URL": server.URL, "ADMIN_URL": storetest.As(t, server.URL, "petstore_admin"),
		"NOT_ADMIN_URL": storetest.As(t, server.URL, storetest.OwnerLogin),
		"HAL_URL":       storetest.As(t, server.URL, "hal"),
		"SUPPORT_URL":   server.SupportURL, "BILLING_URL": server.BillingURL,
		"ALICE_URL": storetest.As(t, server.URL, "alice"),
		"OLGA_URL":  storetest.As(t, server.URL, storetest.OtherLogin), "PORT": server.Port, "CERTS": server.Dir,
		"AT":   "localhost:" + server.Port + "/postgres?sslrootcert=" + server.Dir + "/ca.pem",
		"HOME": home, "PETSTORE_ACTOR": "jo@support-3", "GORACE": "atexit_sleep_ms=0",
	} {
		e.Setenv(name, value)
	}
	return os.Mkdir(home, 0o700)
}

// openSQL opens the database of the first argument of a script command for as long as the script
// runs.
func openSQL(ts *testscript.TestScript, args []string, want int) *sql.DB {
	if len(args) != want {
		ts.Fatalf("want %d arguments", want)
	}
	db, err := sql.Open("postgres", args[0])
	ts.Check(err)
	ts.Defer(func() { _ = db.Close() })
	return db
}

// runSQL is the script command "sqlas URL STATEMENTS".
func runSQL(ts *testscript.TestScript, _ bool, args []string) {
	_, err := openSQL(ts, args, 2).Exec(args[1])
	ts.Check(err)
}

// sessions are those that scripts have begun, by the URL: each script has logins of its own.
var sessions sync.Map

// beginSession is the script command "session URL".
func beginSession(ts *testscript.TestScript, _ bool, args []string) {
	conn, err := openSQL(ts, args, 1).Conn(context.Background())
	ts.Check(err)
	sessions.Store(args[0], conn)
}

// checkEnded is the script command "ended URL": the session that was begun must have ended.
func checkEnded(ts *testscript.TestScript, _ bool, args []string) {
	conn, ok := sessions.Load(args[0])
	if !ok {
		ts.Fatalf("no session was begun")
	}
	if _, err := conn.(*sql.Conn).ExecContext(context.Background(), "select 1"); err == nil {
		ts.Fatalf("the session goes on")
	}
}

// appendSecret is the script command "append FILE TEXT SECRET-FILE": it writes the text and the
// secret at the end of the file.
func appendSecret(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = f.WriteString(args[1] + ts.ReadFile(args[2]))
	ts.Check(errors.Join(err, f.Close()))
}

// queryText returns the text that a query returns.
func queryText(t *testing.T, url, query string) (text string) {
	t.Helper()
	db, err := sql.Open("postgres", url)
	assert.NoError(t, err)
	defer db.Close()
	assert.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&text))
	return text
}

// checkNoSecrets fails if a secret is in the log of the server, which has every statement; in a
// statement of a session; in the audit trail; or among the roles.
func checkNoSecrets(t *testing.T, server *storetest.TLSServer) {
	t.Helper()
	places := map[string]string{"the log": server.Log()}
	for place, query := range map[string]string{
		"pg_stat_activity": `select string_agg(query, chr(10)) from pg_stat_activity`,
		"the audit trail":  `select string_agg(a::text, chr(10)) from audit_entries a`,
		"pg_authid":        `select string_agg(a::text, chr(10)) from pg_authid a`,
	} {
		places[place] = queryText(t, server.URL, query)
	}
	for place, text := range places {
		assert.True(t, !staff.ContainsSecret(text), place, "has a secret")
	}
	// The test looks where secrets would be.
	for place, want := range map[string]string{"the log": "password 'SCRAM-SHA-256$",
		"the audit trail": "staff.rotate", "pg_authid": "SCRAM-SHA-256$"} {
		assert.True(t, strings.Contains(places[place], want), place, "does not have", want)
	}
}
