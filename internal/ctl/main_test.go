package ctl

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/migrate"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// TestScripts runs every script over a database of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			t, ok := e.T().(testing.TB)
			if !ok {
				return fmt.Errorf("%T is no test", e.T())
			}
			database := storetest.New(t)
			url := database.URL
			e.Setenv("PETSTORE_DATABASE_URL", url)
			e.Setenv("OWNER_URL", url)
			// New keys are for what the live servers accept.
			addServer(t, url, "live")
			e.Setenv("SUPPORT_URL", database.SupportURL)
			e.Setenv("BILLING_URL", database.BillingURL)
			e.Setenv("SILENT_URL", "postgres://jo@"+silentServer(t)+"/none?sslmode=disable")
			status, err := migrate.GetStatus(t.Context(), url)
			e.Setenv("LATEST", fmt.Sprint(status.Latest))
			e.Setenv("BEFORE", fmt.Sprint(status.Latest-1))
			e.Setenv("TO_SEVEN", fmt.Sprint(status.Latest-1-7)) // steps from there to the schema without servers
			// Under the race detector a program waits for a second before it ends; there are
			// hundreds.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("PETSTORE_ACTOR", "jo@support-3")
			e.Setenv("TEST_NOW", "2026-11-20T10:30:00Z")
			e.Setenv("ESCAPE", "a\x1b[2Jb")
			e.Setenv("BIDI", "gpj.\u202Egnp")
			e.Setenv("EMOJI", "Zoë's 👩\u200D💻")
			e.Setenv("BAD_UTF8", "a\xffb")
			e.Setenv("LONG", strings.Repeat("x", 300))
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"member": setMember},
	})
}

// addServer adds a server that is alive until the test ends, and accepts keys of that environment.
func addServer(t testing.TB, url, environment string) {
	t.Helper()
	db, err := sql.Open("postgres", url)
	assert.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(
		`insert into servers (id, seen_at, environment, months) values ($1, '2100-01-01', $1, true)`, environment)
	assert.NoError(t, err)
}

// silentServer returns the address of a server that accepts connections and never answers.
func silentServer(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// scriptedMain is petstorectl at the time TEST_NOW. With TEST_WIDTH its stdout is taken for a
// terminal of that width and of TEST_HEIGHT; TEST_MEMORY_FILE gets what Linux says about its
// memory. On failure the last line of stderr is the exit code.
func scriptedMain() {
	s := cmdutil.SystemStreams()
	if width, err := strconv.Atoi(os.Getenv("TEST_WIDTH")); err == nil {
		s.OutTTY, s.Width = true, width
		// Without a height there is no pager.
		s.Height, _ = strconv.Atoi(os.Getenv("TEST_HEIGHT"))
	}
	s.ErrTTY = s.ErrTTY || os.Getenv("TEST_ERR_TTY") != ""
	f := cmdutil.NewFactory(s)
	f.Environ = os.Environ()
	if now, err := time.Parse(time.RFC3339, os.Getenv("TEST_NOW")); err == nil {
		f.Clock = func() time.Time { return now }
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := Run(ctx, f, os.Args[1:])
	stop()
	f.Close()
	if file := os.Getenv("TEST_MEMORY_FILE"); file != "" {
		status, _ := os.ReadFile("/proc/self/status")
		_ = os.WriteFile(file, status, 0o600)
	}
	if code != cmdutil.ExitOK {
		fmt.Fprintln(os.Stderr, "exit", code)
	}
	os.Exit(code)
}

// sqlMain runs a statement and prints its rows.
func sqlMain() {
	if err := printSQL(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func printSQL() error {
	db, err := sql.Open("postgres", os.Getenv("PETSTORE_DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	if len(os.Args) < 2 {
		return fmt.Errorf("usage: sql STATEMENT…")
	}
	rows, err := db.Query(strings.Join(os.Args[1:], " "))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			return err
		}
		fmt.Println(text.String)
	}
	return rows.Err()
}

// writeDevMain writes what "petstore dev" would: writedev FILE DATABASE-URL.
func writeDevMain() {
	token, err := keys.NewToken(keys.Test)
	if err == nil {
		var text []byte
		text, err = json.Marshal(map[string]string{"database_url": os.Args[2], "api_key": token.Reveal()})
		err = errors.Join(err, os.WriteFile(os.Args[1], text, 0o600))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pinAuditMain lets all entries of the audit trail be of TEST_NOW: Postgres sets their times by its
// own clock.
func pinAuditMain() {
	if err := pinAudit(
		context.Background(),
		os.Getenv("PETSTORE_DATABASE_URL"),
		os.Getenv("TEST_NOW"),
		"postgres",
	); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func pinAudit(ctx context.Context, url, at, login string) error {
	return storetest.RewriteAudit(ctx, url, fmt.Sprintf("e.at := '%s'; e.login := '%s'", at, login))
}

// setMember is the script command "member VARIABLE NAME": it sets the variable to a member of the
// JSON object on stdout.
func setMember(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: member VARIABLE NAME")
	}
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &object))
	ts.Setenv(args[0], fmt.Sprint(object[args[1]]))
}
