package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
)

// TestSecretsInFiles: a server takes the database's URL from a file, and warns if others can read
// it.
func TestSecretsInFiles(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	path := filepath.Join(t.TempDir(), "database_url")
	assert.NoError(t, os.WriteFile(path, []byte(d.serverURL+"\n"), 0o600))
	environ := []string{"PETSTORE_DATABASE_URL=", "PETSTORE_DATABASE_URL_FILE=" + path}
	s := d.serve(environ...)
	assert.Equal(t, s.Logged(`"level":"warn"`, `"check":"secrets"`), 0, "warnings")
	s.Stop(syscall.SIGTERM)

	assert.NoError(t, os.Chmod(path, 0o644))
	checkDocumented(
		t,
		"others can read a secret's file",
		"warns",
		"PETSTORE_DATABASE_URL_FILE: every user of this machine can read %s: take the right from others (chmod o-r)",
	)
	s = d.serve(environ...)
	const warning = "PETSTORE_DATABASE_URL_FILE: every user of this machine can read "
	assert.Equal(t, s.Logged(`"level":"warn"`, `"check":"secrets"`, warning+path), 1, "warnings in the log")
	if status, body := s.Ask("/readyz?verbose"); status != 200 || !strings.Contains(string(body), warning+path) {
		t.Errorf("/readyz?verbose: %d %s", status, body)
	}
	s.Stop(syscall.SIGTERM)

	assert.NoError(t, os.WriteFile(path, nil, 0o600))
	checkDocumented(t, "a secret's file cannot be read or is empty", "fails", "PETSTORE_DATABASE_URL_FILE: %s is empty")
	p := d.start(environ...)
	if code := p.Wait(); code != 1 || !strings.Contains(p.Stderr(), "PETSTORE_DATABASE_URL_FILE: "+path+" is empty") {
		t.Errorf("exit %d, %s: want 1 for an empty file", code, p.Stderr())
	}
}

// TestServeWithoutDatabase: if the database is unreachable, serve ends with one line.
func TestServeWithoutDatabase(t *testing.T) {
	t.Parallel()
	p := programs.Start(t, sandbox.Command(t, program(t, "petstore"), "serve"),
		"PETSTORE_DATABASE_URL=postgres://petstore:hunter2@127.0.0.1:1/petstore?sslmode=disable",
		"PETSTORE_ADDR=127.0.0.1:0", "PETSTORE_ADMIN_ADDR=127.0.0.1:0")
	const line = "PETSTORE_DATABASE_URL: reach the database: database unavailable: "
	checkDocumented(t, "database unreachable", "fails", strings.TrimPrefix(line, "PETSTORE_DATABASE_URL: "))
	p.FailsWith(line)
	p.FailsWith("; check host and port in the URL, and that the server runs and listens there")
	if strings.Contains(p.Stderr(), "hunter2") {
		t.Errorf("a password in %q", p.Stderr())
	}
}
