package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/test/sandbox"
)

// TestConfigurationMistakes: the programs list all mistakes and print no secret.
func TestConfigurationMistakes(t *testing.T) {
	t.Parallel()
	const password, redisPassword = "hunter2-of-postgres", "hunter2-of-redis"
	env := []string{
		"PETSTORE_DATABASE_URL=mysql://petstore:" + password + "@db/petstore",
		"PETSTORE_REDIS_URL=http://:" + redisPassword + "@redis:6379",
		"PETSTORE_ADDR=8080", "PETSTORE_ADMIN_ADDR=localhost", "PETSTORE_ENVIRONMENT=prod",
		"PETSTORE_BASE_URL=api.example.com", "PETSTORE_TRUSTED_PROXIES=10.0.0.0/8,everybody",
		"PETSTORE_ADDRESS_LIMIT=many", "PETSTORE_LOG_LEVEL=loud", "PETSTORE_LOG_FORMAT=xml",
		"PETSTORE_REDIS_TIMOUT=1s", "PETSTORE_PPROF=perhaps", "PETSTORE_DRAIN_DELAY=soon", "PETSTORE_STOP_TIMEOUT=0s",
	}
	for _, command := range []string{"serve", "config"} {
		p := start(t, sandbox.Command(t, program(t, "petstore"), command), env...)
		code := p.wait()
		output := p.stderr()
		for _, setting := range env {
			if name, _, _ := strings.Cut(setting, "="); !strings.Contains(output, name) {
				t.Errorf("petstore %s does not name the mistake in %s", command, name)
			}
		}
		if code == 0 {
			t.Errorf("petstore %s: exit code 0 with mistakes", command)
		}
		for _, secret := range []string{password, redisPassword} {
			if strings.Contains(output+p.stdout(), secret) {
				t.Errorf("petstore %s prints a password: %s%s", command, output, p.stdout())
			}
		}
	}
}

// TestSecretsInFiles: a server takes the database's URL from a file, and warns if others can read it.
func TestSecretsInFiles(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	path := filepath.Join(t.TempDir(), "database_url")
	if err := os.WriteFile(path, []byte(d.serverURL+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"PETSTORE_DATABASE_URL=", "PETSTORE_DATABASE_URL_FILE=" + path}
	s := d.serve(environ...)
	if n := s.logged(`"level":"warn"`); n != 0 {
		t.Errorf("%d warnings, want none", n)
	}
	s.stop(syscall.SIGTERM)

	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	checkDocumented(t, "others can read a secret's file", "warns", "PETSTORE_DATABASE_URL_FILE: every user of this machine can read %s: take the right from others (chmod o-r)")
	s = d.serve(environ...)
	const warning = "PETSTORE_DATABASE_URL_FILE: every user of this machine can read "
	if n := s.logged(`"level":"warn"`, `"check":"secrets"`, warning+path); n != 1 {
		t.Errorf("%d warnings in the log, want one", n)
	}
	if status, body := s.ask("/readyz?verbose"); status != 200 || !strings.Contains(string(body), warning+path) {
		t.Errorf("/readyz?verbose: %d %s", status, body)
	}
	s.stop(syscall.SIGTERM)

	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	checkDocumented(t, "a secret's file cannot be read or is empty", "fails", "PETSTORE_DATABASE_URL_FILE: %s is empty")
	p := start(t, sandbox.Command(t, d.petstore, "serve"), d.serverEnv(environ)...)
	if code := p.wait(); code != 1 || !strings.Contains(p.stderr(), "PETSTORE_DATABASE_URL_FILE: "+path+" is empty") {
		t.Errorf("exit %d, %s: want 1 for an empty file", code, p.stderr())
	}
}

// TestConfigurationShown: petstore config prints every setting, secrets redacted.
func TestConfigurationShown(t *testing.T) {
	t.Parallel()
	p := start(t, sandbox.Command(t, program(t, "petstore"), "config"),
		"PETSTORE_DATABASE_URL=postgres://petstore:hunter2@db/petstore", "PETSTORE_REDIS_URL=redis://:hunter3@redis:6379/0")
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr())
	}
	output := p.stdout()
	for _, want := range []string{"PETSTORE_DATABASE_URL=(set", "PETSTORE_REDIS_URL=(set", "PETSTORE_ADDR=:8080", "PETSTORE_ADMIN_ADDR=127.0.0.1:8081"} {
		if !strings.Contains(output, want) {
			t.Errorf("no %q in:\n%s", want, output)
		}
	}
	if strings.Contains(output+p.stderr(), "hunter") {
		t.Errorf("a secret is shown:\n%s", output)
	}
}

// TestServeWithoutDatabase: if the database is unreachable, serve ends with one line.
func TestServeWithoutDatabase(t *testing.T) {
	t.Parallel()
	p := start(t, sandbox.Command(t, program(t, "petstore"), "serve"),
		"PETSTORE_DATABASE_URL=postgres://petstore:hunter2@127.0.0.1:1/petstore?sslmode=disable",
		"PETSTORE_ADDR=127.0.0.1:0", "PETSTORE_ADMIN_ADDR=127.0.0.1:0")
	const line = "PETSTORE_DATABASE_URL: reach the database: database unavailable: "
	checkDocumented(t, "database unreachable", "fails", strings.TrimPrefix(line, "PETSTORE_DATABASE_URL: "))
	p.failsWith(line)
	if strings.Contains(p.stderr(), "hunter2") {
		t.Errorf("a password in %q", p.stderr())
	}
}
