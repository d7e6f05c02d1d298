package storetest

import (
	"context"
	"database/sql"
	_ "embed" // for helpers.sql
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"petstore.example/internal/store/migrate"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/pgtest"
	_ "petstore.example/internal/test/sandbox" // the environment of the tests
	"petstore.example/internal/test/wait"
)

// Database is a migrated, otherwise empty database.
type Database struct {
	URL        string // as its owner, a superuser
	APIURL     string // as the login of servers
	SupportURL string // as the login of a person in petstore_support
	BillingURL string // as the login of a person in petstore_billing
}

// Suite runs the tests of M and stops the shared server after them, so that it also serves
// goleak.VerifyTestMain.
type Suite struct{ M interface{ Run() int } }

// Run returns the exit code of the tests.
func (s Suite) Run() int {
	code := s.M.Run()
	removeSnapshot()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

var shared cluster

// New returns a database of t's own, which is dropped when t ends, whoever is still connected to
// it.
func New(t testing.TB) *Database {
	t.Helper()
	name, err := shared.clone(t.Context())
	assert.NoError(t, err, "test database")
	t.Cleanup(func() {
		if _, err := shared.admin.Exec("drop database if exists " + name + " with (force)"); err != nil {
			t.Errorf("test database: %v", err)
		}
	})
	return database(shared.server, name)
}

func database(s *pgtest.Server, name string) *Database {
	// petstorectl waits as long as a test does.
	staff := func(login string) string {
		return fmt.Sprintf("%s&connect_timeout=%.f", s.URL(login, name), wait.Limit.Seconds())
	}
	return &Database{
		URL:        staff("postgres"),
		APIURL:     s.URL(APILogin, name),
		SupportURL: staff(SupportLogin),
		BillingURL: staff(BillingLogin),
	}
}

// LoginOf returns the login of a URL.
func LoginOf(t testing.TB, rawURL string) string {
	t.Helper()
	u, err := url.Parse(rawURL)
	assert.NoError(t, err)
	return u.User.Username()
}

// As returns the owner's URL of a database with another login in the owner's place.
func As(t testing.TB, ownerURL, login string) string {
	t.Helper()
	u, err := url.Parse(ownerURL)
	assert.NoError(t, err)
	if password, ok := u.User.Password(); ok {
		u.User = url.UserPassword(login, password)
	} else {
		u.User = url.User(login)
	}
	return u.String()
}

// The logins of servers and persons. ColleagueLogin is in petstore_support too, OtherLogin is in no
// role. OwnerLogin owns the tables, and is no superuser.
const (
	APILogin       = "api_server"
	SupportLogin   = "sam"
	ColleagueLogin = "sue"
	BillingLogin   = "bill"
	OtherLogin     = "olga"
	OwnerLogin     = "olav"

	makeLogins = `
		create role ` + APILogin + ` login password 'unused' in role petstore_api;
		create role ` + SupportLogin + ` login password 'unused' in role petstore_support;
		create role ` + ColleagueLogin + ` login password 'unused' in role petstore_support;
		create role ` + BillingLogin + ` login password 'unused' in role petstore_billing;
		create role ` + OtherLogin + ` login password 'unused';
		create role ` + OwnerLogin + ` login password 'unused';
		grant postgres to ` + OwnerLogin
)

// cluster is the server that all tests of this binary share, and the template of their databases.
// It starts with the first of them.
type cluster struct {
	once   sync.Once
	err    error
	server *pgtest.Server
	admin  *sql.DB
	count  atomic.Int64
}

const template = "template_petstore"

func (c *cluster) clone(ctx context.Context) (string, error) {
	c.once.Do(func() { c.err = c.start() })
	if c.err != nil {
		return "", c.err
	}
	name := fmt.Sprintf("test_%d", c.count.Add(1))
	for _, statement := range []string{
		// Copying files takes half the time of the default, which writes the whole copy to the log.
		"create database " + name + " template " + template + " strategy file_copy",
		// Rights on the database itself are not copied.
		"revoke all on database " + name + " from public; grant connect on database " + name +
			" to petstore_api, petstore_support, petstore_billing",
	} {
		if _, err := c.admin.ExecContext(ctx, statement); err != nil {
			return "", fmt.Errorf("clone %s: %w", template, err)
		}
	}
	return name, nil
}

// start uses no test's context: the server outlives the test that comes first.
func (c *cluster) start() error {
	ctx := context.Background()
	server, err := pgtest.Start(ctx, true, nil)
	if err != nil {
		return err
	}
	c.server = server
	if c.admin, err = sql.Open("postgres", server.URL("postgres", "postgres")); err != nil {
		return err
	}
	c.admin.SetMaxOpenConns(4)
	if _, err := c.admin.ExecContext(ctx, "create database "+template); err != nil {
		return err
	}
	url := server.URL("postgres", template)
	if err := errors.Join(migrate.Up(ctx, url), run(ctx, url, helpers+makeLogins)); err != nil {
		return err
	}
	_, err = c.admin.ExecContext(ctx, "alter database "+template+" allow_connections false")
	return err
}

//go:embed helpers.sql
var helpers string

func run(ctx context.Context, url, statements string) error {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statements)
	return errors.Join(err, db.Close())
}

func (c *cluster) stop() error {
	var errs []error
	if c.admin != nil {
		errs = append(errs, c.admin.Close())
	}
	if c.server != nil {
		errs = append(errs, c.server.Stop(context.Background()))
	}
	return errors.Join(errs...)
}
