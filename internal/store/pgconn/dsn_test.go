package pgconn_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox" // the environment of the tests
)

const serviceFile = `# services
[prod]
host=db.prod
dbname=petstore
user=alice
sslmode=verify-full
password=it's a \ secret
[odd]
host = db.odd
[wrong]
port=many
`

// TestService: the URL comes before its service, and the service before the environment.
func TestService(t *testing.T) {
	file := filepath.Join(t.TempDir(), "services")
	assert.NoError(t, os.WriteFile(file, []byte(serviceFile), 0o600))
	prod := pgconn.Target{
		Login:        "alice",
		Host:         "db.prod",
		Database:     "petstore",
		Port:         5432,
		SSLMode:      "verify-full",
		Remote:       true,
		PasswordFrom: "the Postgres service",
	}
	changed := func(change func(*pgconn.Target)) pgconn.Target {
		t := prod
		change(&t)
		return t
	}
	for name, c := range map[string]struct {
		url  string
		env  map[string]string
		want pgconn.Target
	}{
		"only the environment": {"postgres://", map[string]string{"PGSERVICE": "prod"}, prod},
		"a URL names it":       {"postgres://?service=prod", nil, prod},
		"a string names it":    {"service = 'prod'", nil, prod},
		"the URL before the service": {"postgres://bob@db.other:99/x?service=prod", nil,
			changed(func(t *pgconn.Target) { t.Login, t.Host, t.Port, t.Database = "bob", "db.other", 99, "x" })},
		"the same of the environment": {"postgres://bob@db.other/x", map[string]string{"PGSERVICE": "prod"},
			changed(func(t *pgconn.Target) { t.Login, t.Host, t.Database = "bob", "db.other", "x" })},
		"a string before the service": {"user=bob service=prod", map[string]string{"PGSERVICE": "odd"},
			changed(func(t *pgconn.Target) { t.Login = "bob" })},
		"the service before the rest": {"service=prod", map[string]string{"PGHOST": "h", "PGUSER": "u"}, prod},
		"no service": {"postgres://u@h/d?sslmode=disable", nil,
			pgconn.Target{Login: "u", Host: "h", Database: "d", Port: 5432, SSLMode: "disable", Remote: true}},
		"in a password": {`user=u host=h dbname=d password='a service=prod'`, nil,
			pgconn.Target{Login: "u", Host: "h", Database: "d", Port: 5432, Remote: true, PasswordFrom: "the URL"}},
		"ends in nothing": {`user=u host=h dbname=d sslkey=`, nil,
			pgconn.Target{Login: "u", Host: "h", Database: "d", Port: 5432, Remote: true}},
		"ends like nothing": {`user=u host=h dbname=d password=YWI=`, nil,
			pgconn.Target{Login: "u", Host: "h", Database: "d", Port: 5432, Remote: true, PasswordFrom: "the URL"}},
		"a password of the environment": {"postgres://u@h/d", map[string]string{"PGPASSWORD": "p"},
			pgconn.Target{Login: "u", Host: "h", Database: "d", Port: 5432, Remote: true, PasswordFrom: "PGPASSWORD"}},
		"this machine": {"postgres://u@127.0.0.2/d", nil,
			pgconn.Target{Login: "u", Host: "127.0.0.2", Database: "d", Port: 5432}},
		"one of several is remote": {"postgres://u@localhost,db2/d", nil,
			pgconn.Target{Login: "u", Host: "localhost", Database: "d", Port: 5432, Remote: true}},
		"each with its port": {"postgres://u@127.0.0.1:1,db3:2/d", nil,
			pgconn.Target{Login: "u", Host: "127.0.0.1", Database: "d", Port: 1, Remote: true}},
		"a socket": {"postgres://u@/d?host=/tmp", nil,
			pgconn.Target{Login: "u", Host: "/tmp", Database: "d", Port: 5432, SSLMode: "disable"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PGSERVICEFILE", file)
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			got, err := pgconn.ReadTarget(c.url)
			assert.Result(t, got, err, c.want)
		})
	}
}

func TestServiceRefused(t *testing.T) {
	dir := t.TempDir()
	file, open := filepath.Join(dir, "services"), filepath.Join(dir, "open")
	for path, mode := range map[string]os.FileMode{file: 0o600, open: 0o666} {
		assert.NoError(t, os.WriteFile(path, []byte(serviceFile), mode))
		assert.NoError(t, os.Chmod(path, mode))
	}
	for name, c := range map[string]struct{ file, service, want string }{
		"no file": {filepath.Join(dir, "none"), "prod", `the Postgres service "prod" can't be used: `},
		"not in it": {file, "staging", `the Postgres service "staging" can't be used: ` + file +
			" does not define it"},
		"wrong":            {file, "wrong", file + " has a setting of it that can't be read"},
		"others may write": {open, "prod", "open is not trusted: it can be written to by other users (mode 0666)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PGSERVICEFILE", c.file)
			t.Setenv("PGSERVICE", c.service)
			_, err := pgconn.ReadTarget("postgres://")
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	t.Run("a variable that the driver does not know", func(t *testing.T) {
		t.Setenv("PGGSSENCMODE", "disable")
		const want = "environment variable $PGGSSENCMODE is not supported"
		if _, err := pgconn.ReadTarget("postgres://u@h/d"); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	})
}
