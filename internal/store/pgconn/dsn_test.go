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

// TestTextRefused: what is no URL is refused by what it is, and quoted nowhere.
func TestTextRefused(t *testing.T) {
	t.Parallel()
	const (
		mark      = "hunter2"
		elsewhere = "a part of the database URL is no login, host, name or setting"
		blank     = "the database URL has a blank or a line end before or after it"
	)
	for text, want := range map[string]string{
		"\ufeffpostgres://u:hunter2@h/d":                       "the database URL begins with a byte order mark",
		"\xff\xfep\x00o\x00s\x00":                              "the database URL is UTF-16: save it as UTF-8",
		"p\x00o\x00s\x00t\x00g\x00":                            "the database URL is UTF-16: save it as UTF-8",
		"postgres://u:hunter2\xe4@h/d":                         "the database URL is not UTF-8 text",
		"postgres://u:hunter2@h/d\x00":                         "the database URL is not UTF-8 text",
		`"postgres://u:hunter2@h/d"`:                           "the database URL is in quotes",
		"'postgres://u:hunter2@h/d'":                           "the database URL is in quotes",
		" postgres://u:hunter2@h/d":                            blank,
		"postgres://u:hunter2@h/d\n":                           blank,
		"postgresql+psycopg://u:hunter2@h/d":                   "the scheme is postgresql+psycopg",
		"POSTGRES://u:hunter2@h/d":                             "the scheme is POSTGRES",
		"hunter2://h/d":                                        "the database URL does not begin with postgres://",
		"u=hunter2 postgres://h/d":                             "the database URL does not begin with postgres://",
		"cG9zdGdyZXM6Ly91Omh1bnRlcjJAaC9kCg==":                 "write a URL",
		"postgres:/u:hunter2@h/d?sslmode=disable":              "write a URL",
		"Server=h;Password=hunter2":                            "write a URL",
		"statement_timeout=1 host=h":                           "write a URL",
		"postgres:u:hunter2@h/d":                               "the database URL can't be read",
		"host=h user=u password=hun ter2":                      "the database URL can't be read",
		"postgres:///u:hunter2@h/d":                            elsewhere,
		"postgres://u:1/hunter2@h/d":                           elsewhere,
		"postgres://u:#hunter2@h/d":                            elsewhere,
		"postgres://h/d&user=u&password=hunter2":               elsewhere,
		"postgres://u@h/d?application_name=x,password=hunter2": elsewhere,
		"host=h;user=u;password=hunter2":                       elsewhere,
		"host=u:hunter2@h":                                     elsewhere,
		"user=u password=hunter2,host=h":                       elsewhere,
		"postgres://u@h/d?sslkey=-----BEGIN%20hunter2":         elsewhere,
		"postgres://u@h/d?Password=hunter2":                    "a name that is no setting",
		"postgres://u@h/d?pasword=hunter2":                     "a name that is no setting",
		"postgres://u@h/d?sslpassword=hunter2":                 "a name that is no setting",
		"postgres://u@h/d?sslmod=verify-full":                  "a name that is no setting",
		"postgres://u@/d?hots=h":                               "a name that is no setting",
		"postgres://u@h/d?hunter2":                             "a name that is no setting",
		"postgres://u@h/d?x=1;password=hunter2":                "the database URL can't be read",
	} {
		_, err := pgconn.ReadTarget(text)
		assert.True(
			t,
			err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), mark),
			text,
			err,
		)
	}
}

// TestTextTaken: what is refused around it does not take these with it.
func TestTextTaken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"postgres://jo%40server:p%3A%2F%40@[::1]:5432/d?statement_timeout=5000&my.setting=x&search_path=a,b",
		"postgresql://u:pa:ss@h1:1,h2:2/d?target_session_attrs=read-write", "postgres://u@/d?host=@abstract",
		"host=h port=1 user=u password='a;b://c'", "host=h user=u keepalives=1 channel_binding=prefer database=x",
		"user=u password=cG9ydDo= options='-c app.user=5 -c search_path=a,b'", "postgres://u:port=@h/d",
		"postgres://u@h/d?password_encryption=x", "postgres://u:p@h", "postgres://", "",
	} {
		_, err := pgconn.ReadTarget(text)
		if strings.Contains(text, "://c") { // The text of a URL must not be taken for one of pairs.
			assert.True(t, err != nil, text)
			continue
		}
		assert.NoError(t, err, text)
	}
}

// TestVariableRefused: an error about a variable of Postgres has its name and not its value.
func TestVariableRefused(t *testing.T) {
	for name, want := range map[string]string{
		"PGPORT":           "environment variable $PGPORT has a value that can't be used",
		"PGHOSTADDR":       "environment variable $PGHOSTADDR has a value that can't be used",
		"PGCLIENTENCODING": "the variables PG… of the environment can't be used",
		"PGSERVICE":        "what should name a Postgres service is a URL or the like",
		"PGHOST":           "a part of the database URL is no login, host, name or setting",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "postgres://u:hunter2@h/d")
			_, err := pgconn.ReadTarget("postgres://")
			assert.True(t, err != nil && strings.HasPrefix(err.Error(), want), err)
		})
	}
}

// TestServiceFileText: a byte order mark does not matter, and what is no text is named.
func TestServiceFileText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "services")
	t.Setenv("PGSERVICEFILE", file)
	for text, want := range map[string]string{
		"\ufeff[prod]\r\nhost=h\r\n":                         "",
		"\xff\xfe[\x00p\x00":                                 file + " is UTF-16: save it as UTF-8",
		"[prod]\nhost=h\nuser=\xe4\n":                        file + " is not UTF-8 text",
		"[prod]\npostgres://u:hunter2@h/d?sslmode=disable\n": file + " has a setting of it that can't be read",
		"[prod]\nhost=h\nstatement_timeout=5\n":              file + " has a setting of it that can't be read",
		"[prod]\nhost=h;password=hunter2\n":                  file + " has a setting of it that can't be read",
	} {
		assert.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		target, err := pgconn.ReadTarget("postgres://?service=prod")
		if want == "" {
			assert.NoError(t, err)
			assert.Equal(t, target.Host, "h", "host")
			continue
		}
		assert.True(t, err != nil && strings.HasSuffix(err.Error(), want), text, err)
	}
}
