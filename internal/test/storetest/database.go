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

// Suite runs the tests of M and then stops the shared server, so that it also serves
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

// New returns a database for t. It is dropped when t ends, even if it still has connections.
func New(t testing.TB) *Database {
	t.Helper()
	name, err := shared.clone(t.Context())
	assert.NoError(t, err, "test database")
	t.Cleanup(func() {
		if _, err := shared.admin.Exec("drop database if exists " + name + " with (force)"); err != nil {
			t.Errorf("test database: %v", err)
		}
	})
	return database(shared.url, name)
}

// database has the addresses of a database on a server. url makes each of them.
func database(url func(login, database string) string, name string) *Database {
	// petstorectl waits as long as a test does.
	staff := func(login string) string {
		return fmt.Sprintf("%s&connect_timeout=%.f", url(login, name), wait.Limit.Seconds())
	}
	return &Database{
		URL:        staff("postgres"),
		APIURL:     url(APILogin, name),
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

// As returns the owner's URL of a database with another login in place of the owner.
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

// The logins of servers and persons. ColleagueLogin is in petstore_support too; OtherLogin is in no
// role. OwnerLogin owns the tables, and is not a superuser.
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
// The server is the one that Variable names, else one that starts with the first test.
type cluster struct {
	once   sync.Once
	err    error
	server *pgtest.Server // nil for the server that Variable names
	url    func(login, database string) string
	admin  *sql.DB
	count  atomic.Int64
}

const template = "template_petstore"

// Variable names the server that the test binaries of one run share: it is a URL of the superuser.
// The server already has the template.
const Variable = "PETSTORE_TEST_POSTGRES"

// StartShared starts a server for several test binaries, and returns the value of Variable for them.
func StartShared() (value string, stop func() error, err error) {
	var c cluster
	if err := c.start(); err != nil {
		return "", nil, errors.Join(err, c.stop())
	}
	return c.url("postgres", "postgres"), c.stop, nil
}

func (c *cluster) clone(ctx context.Context) (string, error) {
	c.once.Do(func() { c.err = c.start() })
	if c.err != nil {
		return "", c.err
	}
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), c.count.Add(1))
	for _, statement := range []string{
		// Copying files takes half the time of the default strategy, which writes the whole copy to
		// the log.
		"create database " + name + " template " + template + " strategy file_copy",
		// The copy does not have the rights on the database itself.
		"revoke all on database " + name + " from public; grant connect on database " + name +
			" to petstore_api, petstore_support, petstore_billing",
	} {
		if _, err := c.admin.ExecContext(ctx, statement); err != nil {
			return "", fmt.Errorf("clone %s: %w", template, err)
		}
	}
	return name, nil
}

// start uses no test's context, because the server outlives the first test.
func (c *cluster) start() (err error) {
	if given := os.Getenv(Variable); given != "" {
		c.url = func(login, database string) string { return at(given, login, database) }
		return c.connect()
	}
	if c.server, err = pgtest.Start(
		context.Background(),
		true,
		map[string]string{"max_connections": "1000"},
	); err != nil {
		return err
	}
	c.url = c.server.URL
	if err := c.connect(); err != nil {
		return err
	}
	return c.makeTemplate()
}

func (c *cluster) connect() (err error) {
	if c.admin, err = sql.Open("postgres", c.url("postgres", "postgres")); err == nil {
		c.admin.SetMaxOpenConns(4)
	}
	return err
}

// at returns the address of a database on the server of rawURL, which must be well formed.
func at(rawURL, login, database string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL // the first connection says what is wrong
	}
	u.User, u.Path = url.User(login), "/"+database
	return u.String()
}

func (c *cluster) makeTemplate() error {
	ctx := context.Background()
	if _, err := c.admin.ExecContext(ctx, "create database "+template); err != nil {
		return err
	}
	url := c.url("postgres", template)
	if err := errors.Join(migrate.Up(ctx, url, nil), run(ctx, url, helpers+makeLogins)); err != nil {
		return err
	}
	_, err := c.admin.ExecContext(ctx, "alter database "+template+" allow_connections false")
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
