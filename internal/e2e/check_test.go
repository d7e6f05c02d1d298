package e2e_test

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/certtest"
	"petstore.example/internal/test/freeport"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/smtptest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// check runs petstore serve --check, whose settings are right but for env, and returns what it
// prints and its exit code.
func check(t *testing.T, env ...string) (lines string, code int) {
	t.Helper()
	free := []string{"PETSTORE_ADDR=127.0.0.1:0", "PETSTORE_ADMIN_ADDR=" + freeport.Address(t), patientRedis}
	p := programs.Start(t, sandbox.Command(t, program(t, "petstore"), "serve", "--check"), append(free, env...)...)
	code, lines = p.Wait(), p.Stdout()
	assert.True(t, !strings.Contains(lines+p.Stderr(), "hunter"), "a password in", lines, p.Stderr())
	return lines, code
}

// TestCheck: serve --check says what it tried, and changes nothing. Beside a server on the same
// addresses all is well too.
func TestCheck(t *testing.T) {
	t.Parallel()
	postgres, redis := storetest.NewTLSServer(t), redistest.New(t)
	execute(t, postgres.URL, "alter role api_server password 'hunter2'")
	before := len(postgres.Log())
	databaseURL := "PETSTORE_DATABASE_URL=postgres://api_server:hunter2@localhost:" + postgres.Port +
		"/postgres?sslmode=verify-full&sslrootcert=" + postgres.Dir + "/ca.pem"
	redisURL := "PETSTORE_REDIS_URL=" + redis.URL
	lines, code := check(t, databaseURL, redisURL)
	want := regexp.MustCompile(`^ok    the settings have no mistake, and leave files for \d+ connections
ok    PETSTORE_ADDR: 127.0.0.1:0 is free
ok    PETSTORE_ADMIN_ADDR: 127.0.0.1:\d+ is free
ok    PETSTORE_DATABASE_URL: Postgres answers, and notifies
ok    PETSTORE_DATABASE_URL: the login may serve
ok    PETSTORE_DATABASE_URL: the schema can be used
ok    PETSTORE_DATABASE_URL: petstore_api has its rights
ok    PETSTORE_REDIS_URL: Redis answers, and counts for this login
$`)
	if code != 0 || !want.MatchString(lines) {
		t.Errorf("exit %d:\n%s", code, lines)
	}
	log := postgres.Log()[before:]
	if changes := regexp.MustCompile(
		`(?i)(statement|execute [^:]*): +(insert|update|delete|create|alter|drop|grant)`,
	); changes.MatchString(log) ||
		!strings.Contains(log, "callers_of_keys") {
		t.Errorf("the check changes the database, or does not look up a caller: %s", log)
	}

	addresses := []string{"PETSTORE_ADDR=" + freeport.Address(t), "PETSTORE_ADMIN_ADDR=" + freeport.Address(t)}
	s := programs.Serve(t, program(t, "petstore"), append(addresses, databaseURL, redisURL, patientRedis)...)
	lines, code = check(t, append(addresses, databaseURL, redisURL)...)
	const inUse = " is in use by a server of petstore, which must stop before another one starts\n"
	if code != 0 || strings.Count(lines, inUse) != 2 {
		t.Errorf("beside a server: exit %d:\n%s", code, lines)
	}
	wait.Until(t, "the server beside it is ready", func() bool { return s.Ready().Status == "ready" })
	// Another program has the port of the API.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	defer listener.Close()
	lines, code = check(t, addresses[1], "PETSTORE_ADDR="+listener.Addr().String(), databaseURL, redisURL)
	if code != 1 || strings.Count(lines, inUse) != 1 ||
		!strings.Contains(lines, "fail  "+listener.Addr().String()+" is in use by another program") {
		t.Errorf("beside another program: exit %d:\n%s", code, lines)
	}
	const key = "PETSTORE_SECRETS_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	lines, code = check(t, databaseURL, redisURL, key)
	if code != 0 || !strings.Contains(lines, "\nok    PETSTORE_SECRETS_KEY: it opens the secrets of webhooks\n") {
		t.Errorf("with a key: exit %d:\n%s", code, lines)
	}
	relay := smtptest.New(t, smtptest.Options{})
	smtp := "PETSTORE_SMTP_URL=smtp://" + smtptest.User + ":hunter2@" + relay.Addr
	from := "PETSTORE_MAIL_FROM=notices@example.org"
	lines, code = check(t, databaseURL, redisURL, key, smtp, from, "SSL_CERT_FILE="+relay.CA)
	if code != 1 || !strings.Contains(lines, "\nfail  PETSTORE_SMTP_URL: the relay refuses the login: 535 5.7.8\n") {
		t.Errorf("with a wrong password of the relay: exit %d:\n%s", code, lines)
	}
	smtp = "PETSTORE_SMTP_URL=smtp://" + smtptest.User + ":" + url.QueryEscape(smtptest.Password) + "@" + relay.Addr
	lines, code = check(t, databaseURL, redisURL, key, smtp, from, "SSL_CERT_FILE="+relay.CA)
	if code != 0 ||
		!strings.Contains(lines, "\nok    PETSTORE_SMTP_URL: the relay answers over TLS, and takes the login\n") {
		t.Errorf("with a relay: exit %d:\n%s", code, lines)
	}
	execute(
		t,
		postgres.URL,
		`with t as (insert into tenants (name, created_at) values ('acme', now()) returning id), e as (
		insert into endpoints (tenant_id, environment, url, events)
		select id, 'live', 'https://example.com', '{*}' from t
		returning id) insert into endpoint_secrets (endpoint_id, key_id, sealed) select id, '0a0a', '' from e`,
	)
	lines, code = check(t, databaseURL, redisURL, key)
	if code != 1 ||
		!strings.Contains(lines, "fail  PETSTORE_SECRETS_KEY: secrets of webhooks (1) are sealed with another "+
			"key, 0a0a: set the key of the other servers, or both separated by a comma\n") {
		t.Errorf("with another key: exit %d:\n%s", code, lines)
	}
	lines, code = check(t, databaseURL, "PETSTORE_REDIS_URL="+redistest.New(t).URL)
	if code != 1 ||
		!strings.Contains(
			lines,
			"fail  PETSTORE_REDIS_URL: this server reaches another Redis than the other servers\n",
		) {
		t.Errorf("with another Redis: exit %d:\n%s", code, lines)
	}
}

// TestWrongConfigurations: each is one line of serve --check, which names the variable, what was
// found and what to do.
func TestWrongConfigurations(t *testing.T) {
	t.Parallel()
	postgres, redis := storetest.NewTLSServer(t), redistest.New(t)
	execute(
		t,
		postgres.URL,
		"alter role api_server password 'hunter2'; create role carol login in role petstore_api; create role full "+
			"login password 'hunter2' connection limit 0 in role petstore_api",
	)
	execute(
		t,
		postgres.URL,
		`do $$ begin execute format('copy (select unnest(array[''local all all trust'',
		''hostssl all carol 127.0.0.1/32 cert'',
		''hostssl all all 127.0.0.1/32 scram-sha-256''])) to %L', current_setting('hba_file')); end $$`,
	)
	postgres.Stop()
	postgres.Start()
	_, redisTLS, _ := redistest.NewTLS(t, "127.0.0.1")
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.pem")
	assert.NoError(t, os.WriteFile(garbage, []byte("garbage"), 0o600))
	authority := certtest.New(t)
	authority.Write(t, dir)
	authority.Issue(t, filepath.Join(dir, "carol"), storetest.CertLogin)
	locked := "redis://:hunter2@" + lockedRedis(t) + "/0"
	silent := storetest.Proxy(t, "tcp", redis.Addr, func(net.Conn, net.Conn) { <-t.Context().Done() })
	tlsAddr, err := url.Parse(redisTLS)
	assert.NoError(t, err)

	const by = "api_server:hunter2"
	database := func(login, host, name, query string) string {
		return "PETSTORE_DATABASE_URL=postgres://" + login + "@" + host + "/" + name + "?" + query
	}
	at, full := "localhost:"+postgres.Port, "sslmode=verify-full&sslrootcert="+postgres.Dir+"/ca.pem"
	right := database(by, at, "postgres", full)
	cert := func(cert, key string) string { return full + "&sslcert=" + cert + "&sslkey=" + key }
	const (
		unlike = "nothing there answers in time as it should: check host and port in the URL, firewalls, and " +
			"whether TLS is wanted"
		ended = "that server ended the connection: check host and port in the URL, whether TLS is wanted (rediss:// " +
			"for Redis)"
	)
	for name, c := range map[string]struct{ env, found, do string }{
		"no such authority": {database(by, at, "postgres", "sslmode=verify-full&sslrootcert=/none.crt"),
			"open /none.crt: no such file", "the URL names that file (sslrootcert, sslcert, sslkey)"},
		"no PEM": {database(by, at, "postgres", "sslmode=verify-full&sslrootcert="+garbage),
			"sslrootcert", "the file must hold the certificate of an authority, in PEM"},
		"another authority": {database(by, at, "postgres", "sslmode=verify-full&sslrootcert="+dir+"/ca.pem"),
			"unknown authority", "sslrootcert=FILE in the URL"},
		"another host": {database(by, "127.0.0.1:"+postgres.Port, "postgres", full), "127.0.0.1",
			"name the host in the URL as its certificate does"},
		"wrong database": {database(by, at, "petstor", full), `database "petstor" does not exist`,
			"check the name of the database in the URL"},
		"wrong password": {database("api_server:hunter3", at, "postgres", full), `user "api_server"`,
			"check login and password in the URL"},
		"wrong login": {database("nobody:hunter3", at, "postgres", full), `user "nobody"`,
			"check login and password in the URL"},
		"no entry": {database(by, at, "postgres", "sslmode=disable"), "no pg_hba.conf entry",
			"check login, database and sslmode in the URL"},
		"no connection left": {database("full:hunter2", at, "postgres", full), "too many connections",
			"raise max_connections, or what limits the login or the database: each server uses up to 30"},
		"refused": {database(by, "127.0.0.1:1", "postgres", full), "connection refused",
			"check host and port in the URL"},
		"no such host": {database(by, "db.invalid", "postgres", full), "db.invalid",
			"check the host in the URL"},
		"no Postgres": {database(by, silent, "postgres", "sslmode=disable"), "deadline exceeded", unlike},
		"unknown certificate": {database("carol", at, "postgres", cert(dir+"/carol.pem", dir+"/carol.key")), "",
			"the certificate of sslcert "},
		"another key": {database("carol", at, "postgres",
			cert(postgres.Dir+"/carol.pem", dir+"/carol.key")), "private key does not match",
			"sslcert and sslkey in the URL must name a certificate and its own key"},
		"no such certificate": {database("carol", at, "postgres", cert("/none.pem", dir+"/carol.key")),
			"requires a valid client certificate", "check that the files are there"},
		"no such key": {database("carol", at, "postgres", cert(postgres.Dir+"/carol.pem", "/none.key")),
			"/none.key: no such file", "the URL names that file"},
		"Redis refuses": {"PETSTORE_REDIS_URL=redis://:hunter3@127.0.0.1:1/0", "connection refused",
			"check host and port in the URL"},
		"Redis password": {"PETSTORE_REDIS_URL=" + strings.Replace(locked, "2", "3", 1), "WRONGPASS",
			"check user and password in the URL"},
		"Redis without password": {"PETSTORE_REDIS_URL=" + strings.Replace(locked, ":hunter2@", "", 1), "NOAUTH",
			"set user and password in the URL"},
		"Redis without TLS": {"PETSTORE_REDIS_URL=" + strings.Replace(redis.URL, "redis:", "rediss:", 1), "", unlike},
		"Redis with TLS":    {"PETSTORE_REDIS_URL=redis://" + tlsAddr.Host + "/0", "", ended},
		"Redis authority":   {"PETSTORE_REDIS_URL=" + redisTLS, "unknown authority", "SSL_CERT_DIR for Redis"},
		"no Redis":          {"PETSTORE_REDIS_URL=redis://127.0.0.1:" + postgres.Port + "/0", "", ended},
		"no such address": {"PETSTORE_ADDR=192.0.2.1:8080", "can't listen on 192.0.2.1:8080: ",
			"choose another address with PETSTORE_ADDR"},
		"no address": {"PETSTORE_ADDR=8080", `PETSTORE_ADDR is "8080"`, "want HOST:PORT"},
		"no network": {"PETSTORE_TRUSTED_PROXIES=10.0.0.0/33", `PETSTORE_TRUSTED_PROXIES contains "10.0.0.0/33"`,
			"want addresses or ranges such as 10.0.0.0/8"},
		"misspelt": {"PETSTORE_ADDRSS=:80", "PETSTORE_ADDRSS is no variable of petstore",
			"did you mean PETSTORE_ADDR?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variable, _, _ := strings.Cut(c.env, "=")
			lines, code := "", 0
			wait.Until(t, "a Postgres that answers in time", func() bool {
				lines, code = check(t, right, "PETSTORE_REDIS_TIMEOUT=1s", c.env)
				return variable == "PETSTORE_DATABASE_URL" || !strings.Contains(lines, "fail  PETSTORE_DATABASE_URL")
			})
			var failed []string
			for line := range strings.Lines(lines) {
				if strings.HasPrefix(line, "fail  ") {
					failed = append(failed, line)
				}
			}
			if code != 1 || len(failed) != 1 || !strings.Contains(failed[0], variable) ||
				!strings.Contains(failed[0], c.found) ||
				!strings.Contains(failed[0], c.do) {
				t.Errorf("exit %d, want a line with %s, %q and %q:\n%s", code, variable, c.found, c.do, lines)
			}
			t.Log(strings.Join(failed, ""))
		})
	}
}

// TestCheckFindsAllAtOnce: what does not depend on each other fails together.
func TestCheckFindsAllAtOnce(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	execute(t, database.URL, "update schema_migrations set version = 1")
	lines, code := check(
		t,
		"PETSTORE_DATABASE_URL="+database.URL,
		"PETSTORE_REDIS_URL=redis://127.0.0.1:1/0",
		"PETSTORE_LOG_LEVEL=loud",
		"PETSTORE_ADDR=192.0.2.1:80",
	)
	for _, want := range []string{
		`fail  PETSTORE_LOG_LEVEL is "loud"`, "fail  can't listen on 192.0.2.1:80", "PETSTORE_ALLOW_OWNER=yes\n",
		"the database is at version 1 of its schema", "fail  PETSTORE_REDIS_URL: ",
	} {
		assert.Contains(t, lines, want)
	}
	assert.Equal(t, code, 1, "exit")
	assert.Equal(t, strings.Count(lines, "fail  "), 5, "mistakes", lines)
}

// lockedRedis is the address of a Redis whose password is hunter2.
func lockedRedis(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(withRedisPassword(t, redistest.New(t), "hunter2"))
	assert.NoError(t, err)
	return u.Host
}
